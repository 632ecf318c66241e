'use strict';
// Faults: every rule is one that the server takes, and what they do is done.

const assert = require('node:assert/strict');
const { Action, Clients } = require('../index.js');
const { connect, withServer } = require('./client.js');

const ACTIONS = [
  Action.dropRequest(),
  Action.dropRequest({ closeAfterMs: 1 }),
  Action.dropReply(),
  Action.dropReply({ closeAfterMs: 500 }),
  Action.delay(1),
  Action.delay(2, { jitterMs: 1 }),
  Action.delayReply(1),
  Action.delayReply(2, { jitterMs: 1 }),
  Action.hold(),
  Action.holdReply(),
  Action.error('ERR as asked'),
  Action.replyNull(),
  Action.replyOk(),
  Action.replyInt(-1),
  Action.replyBulk('text'),
  Action.replyRaw(Buffer.from('$x')),
  Action.close(),
  Action.closeAfter(),
  Action.reset(),
  Action.resetAfter(),
  Action.slice(3),
  Action.slice(3, { everyMs: 1 }),
  Action.bandwidth(64),
  Action.truncate(3),
  Action.duplicate(),
  Action.losePublish(),
  Action.noScript(),
  Action.expire(),
  Action.argAdd(2, -1n),
  Action.timeShift(),
];

withServer('the server knows every action', {}, async ({ faults }) => {
  const made = new Set(ACTIONS.map(({ words }) => words[0]));
  const methods = Object.values(Action).filter((method) => typeof method === 'function');
  assert.equal(made.size + 4, methods.length, 'five kinds of REPLY are one word');
  for (const action of ACTIONS) {
    await faults.add('rule', action, { on: 'GET' });
    const [{ rule }] = await faults.list();
    assert.equal(rule, `ON GET DO ${action.words.join(' ')}`);
    assert.ok(await faults.remove('rule'));
  }
});

withServer('a rule has every matcher', {}, async ({ faults }) => {
  await faults.add('all', Action.dropReply(), {
    ...{ on: 'set', key: 'order:*', channel: 'news', arg: [2, 'v'], client: Clients.named('w*'), result: 'OK' },
    ...{ skip: 1, times: 2, prob: 0.5 },
  });
  await faults.add('script', Action.noScript(), { script: 'a'.repeat(40), client: Clients.lib('ioredis') });
  await faults.add('text', Action.error('ERR no'), { contains: 'hincrby', client: Clients.id(7) });
  const [first, ...rest] = await faults.list();
  assert.deepEqual(first, {
    name: 'all',
    rule: 'ON set KEY order:* CHANNEL news ARG 2 v CLIENTNAME w* RESULT OK SKIP 1 TIMES 2 PROB 0.5 DO DROPREPLY',
    ...{ matched: 0, skipped: 0, hits: 0, left: 2, held: 0 },
  });
  assert.deepEqual(
    rest.map(({ left }) => left),
    [null, null],
  );
  assert.deepEqual([await faults.remove('text'), await faults.remove('text')], [true, false]);
  await faults.seed(7);
  assert.equal(await faults.clear(), 2);
  await assert.rejects(faults.add('no', Action.hold(), { client: Clients.all() }), /by id, name or lib/);
  await assert.rejects(faults.add('no', Action.hold(), { onn: 'SET' }), /faults.add has no option 'onn'; did you mean 'on'\?/);
  await assert.rejects(faults.add('no', Action.hold(), { on: 'NOSUCH' }), /NOSUCH/);
  assert.throws(() => Action.delay('1'), /a duration is a whole number of milliseconds, not '1'/);
  assert.throws(() => Action.slice(1, { evry: 1 }), /Action.slice has no option 'evry'; did you mean 'everyMs'\?/);
  await assert.rejects(faults.add('no', 'hold', { on: 'GET' }), /one of those that Action makes, not 'hold'/);
});

withServer('a fault meets a client and not the test', {}, async (server) => {
  const client = connect(server);
  await server.faults.add('refuse', Action.error('ERR as asked'), { on: 'SET', times: 1 });
  assert.equal(await server.command('SET', 'k', 'test'), 'OK');
  assert.equal(await client.ask('SET k client'), '-ERR as asked\r\n');
  await server.await.fault('refuse');
  assert.equal(await client.ask('SET k client'), '+OK\r\n');
  await server.faults.exempt(false);
  await server.faults.add('again', Action.error('ERR again'), { on: 'GET' });
  await assert.rejects(server.command('GET', 'k'), /again/);
  await server.reset();
  assert.equal(await server.command('GET', 'k'), null);
  assert.deepEqual(await server.faults.list(), []);
  client.close();
});

withServer('an interleaving in a wished order', {}, async (server) => {
  const [one, other] = [connect(server), connect(server)];
  await server.faults.add('writes', Action.hold(), { on: 'SET' });
  const asked = [one.ask('SET k one'), other.ask('SET k other')];
  await server.await.held('writes', 2);
  assert.equal(await server.command('EXISTS', 'k'), 0);
  assert.equal(await server.faults.go('writes', 1), 1);
  assert.equal(await server.faults.go('writes'), 1);
  assert.deepEqual(await Promise.all(asked), ['+OK\r\n', '+OK\r\n']);
  [one, other].forEach((client) => client.close());
});

withServer('clients freeze and are cut off', {}, async (server) => {
  const client = connect(server, 'frozen');
  await client.named();
  assert.equal(await server.faults.freezeClient(Clients.named('frozen'), 5000), 1);
  const asked = client.ask('SET k v');
  assert.equal(await server.faults.thawClient(Clients.named('frozen')), 1);
  assert.equal(await asked, '+OK\r\n');
  assert.equal(await server.faults.partition(Clients.all(), 'IN'), 1);
  const cutOff = client.ask('SET k again');
  assert.equal(await server.command('GET', 'k'), 'v', 'the test itself is not cut off');
  assert.equal(await server.faults.heal(), 1);
  assert.equal(await cutOff, '+OK\r\n');
  client.close();
});

withServer('a failover loses what no replica has', {}, async (server) => {
  await server.command('SET', 'before', 'x');
  await server.faults.lag();
  await server.command('SET', 'after', 'x');
  await server.faults.failover();
  assert.equal(await server.command('EXISTS', 'before', 'after'), 1);
  await server.faults.lag({ key: 'order:*' });
  await server.command('MSET', 'order:1', 'x', 'other', 'x');
  await server.faults.failover({ tokens: true });
  assert.equal(await server.command('EXISTS', 'order:1', 'other'), 1);
});

withServer('a restart forgets and lets nobody in', {}, async (server) => {
  await server.command('SET', 'k', 'v');
  const client = connect(server);
  assert.equal(await client.ask('PING'), '+PONG\r\n');
  await server.faults.restart({ downMs: 5000 });
  assert.equal(await client.ask('PING'), null);
  await server.clock.advance(5000);
  assert.equal(await server.command('GET', 'k'), null);
  await server.command('SET', 'k', 'v');
  await server.faults.restart({ keep: true });
  assert.equal(await server.command('GET', 'k'), 'v');
  await server.faults.restart({ tokens: true });
  assert.equal(await server.command('DBSIZE'), 0);
});
