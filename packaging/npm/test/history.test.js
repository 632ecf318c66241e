'use strict';
// What happened to locks, and what is wrong in it.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Action, AwaitError, FindingsError, startServer } = require('../index.js');
const { START, withServer } = require('./client.js');

async function heldAndExpired(server) {
  await server.command('LOCK.ACQUIRE', 'order:42', 'first', 'PX', 8000);
  await server.clock.advance(8000);
  await server.command('LOCK.ACQUIRE', 'order:42', 'second', 'PX', 8000);
}

async function events(server, filters) {
  const { entries } = await server.history.entries(filters);
  return entries.filter(({ key }) => key !== null).map(({ event, owner }) => `${event} ${owner}`);
}

/** Two are in a section that a lock protects. */
async function overlap(server) {
  await server.history.enter('order:42', 'first');
  await server.history.enter('order:42', 'second');
}

withServer('it tells who took a lock and how it ended', {}, async (server) => {
  await heldAndExpired(server);
  assert.deepEqual(await events(server), ['acquired first', 'lost first', 'acquired second']);
  const told = await server.history.entries({ key: 'order:*', owner: 'first' });
  const [acquired, lost] = told.entries;
  assert.deepEqual([acquired.kind, acquired.mode, acquired.ttlMs, acquired.wall], ['native', 'exclusive', 8000, START]);
  assert.deepEqual([lost.cause, lost.grant, lost.fault], ['expired', acquired.grant, null]);
  assert.equal(lost.monotonicMs - acquired.monotonicMs, 8000);
  assert.deepEqual([told.first, told.truncated], [1, false]);
  assert.deepEqual(await events(server, { since: lost.seq }), ['acquired second']);
  assert.equal((await server.history.entries({ count: 1 })).entries.length, 1);
});

withServer('it is there as JSON and as EDN', {}, async (server) => {
  await heldAndExpired(server);
  const { entries } = JSON.parse(await server.history.json({ owner: 'second' }));
  assert.deepEqual(
    entries.map(({ event }) => event),
    ['acquired'],
  );
  assert.match(await server.history.edn({ key: 'order:42' }), /:process.*:invoke|:invoke.*:process/s);
});

withServer('a test writes into it', {}, async (server) => {
  await server.history.mark('the second begins');
  await server.history.enter('room', 'a');
  await server.history.enter('room', 'b', { token: 7 });
  assert.deepEqual([await server.history.leave('room', 'a'), await server.history.leave('room', 'a')], [true, false]);
  const { entries } = await server.history.entries();
  assert.equal(entries.find(({ event }) => event === 'mark').text, 'the second begins');
  assert.deepEqual(
    entries.filter(({ event }) => event === 'entered').map(({ grant }) => grant),
    [null, 7],
  );
  await server.history.observe('my:*');
  await server.command('SET', 'my:lock', 'me');
  await server.history.unobserve('my:*');
  await server.command('SET', 'my:other', 'me');
  assert.deepEqual(await events(server, { key: 'my:*' }), ['acquired me']);
});

withServer('an event is awaited', {}, async (server) => {
  await heldAndExpired(server);
  const seq = await server.await.event('lost', { key: 'order:*', owner: 'first' });
  assert.equal((await server.history.entries({ since: seq - 1, count: 1 })).entries[0].event, 'lost');
  assert.ok((await server.await.event('acquired', { count: 2 })) > seq);
  await assert.rejects(server.await.event('lost', { since: seq, limitMs: 10 }), AwaitError);
});

withServer('counts of other kinds are awaited', {}, async (server) => {
  await server.command('SET', 'k', 'v');
  await server.await.calls('SET', 1);
  await server.await.clients(1);
  await server.await.clients(0, { name: 'nobody', exact: true });
  await server.await.blocked(0, { exact: true });
  await server.await.waiters('k', 3, { atmost: true });
  await server.await.subscribers('news', 0, { exact: true });
  await server.await.idle(10, { name: 'nobody' });
  await assert.rejects(server.await.blocked(1, { exact: true, atmost: true }), /exclude each other/);
});

withServer('two in a section are found', {}, async (server) => {
  assert.deepEqual((await server.verify()).findings, []);
  await overlap(server);
  const { verdict, truncated, findings } = await server.verify({ key: 'order:*', level: 'violation' });
  assert.deepEqual([verdict, truncated, findings.length], ['violated', false, 1]);
  const [{ level, invariant, key, seqs, owners, evidence }] = findings;
  assert.deepEqual([level, invariant, key], ['violation', 'mutual-exclusion', 'order:42']);
  assert.deepEqual([...owners].sort(), ['first', 'second']);
  assert.equal(seqs.length, evidence.length);
  assert.deepEqual((await server.verify({ key: 'other' })).findings, []);
  await server.check();
});

test('a server that verifies tells at its end', async () => {
  const server = await startServer({ verify: 'violation' });
  await server.check();
  await overlap(server);
  await assert.rejects(server.check({ level: 'lint' }), /^FindingsError: violation mutual-exclusion/);
  const off = await startServer({ args: ['--lock-history', 'no'] });
  const { verdict, reason, leftOut } = await off.verify();
  assert.deepEqual([verdict, leftOut], ['inconclusive', 0]);
  await assert.rejects(off.check({ level: 'violation' }), (error) => {
    assert.match(error.message, /^inconclusive: the history is off: CONFIG SET lock-history yes turns it on\n/);
    assert.deepEqual(error.findings, []);
    return error instanceof FindingsError;
  });
  assert.ok((await off.report()).includes(`\nfindings:\n    ${reason === null ? verdict : `${verdict}: ${reason}`}\n`));
  await off.stop();
  await assert.rejects(server[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')](), (error) => {
    assert.ok(error instanceof FindingsError);
    assert.match(error.message, /^violation mutual-exclusion of order:42: .*\n(.*\n)*history:\n/);
    assert.equal(error.findings.length, 1);
    return true;
  });
  await assert.rejects(startServer({ verify: 'all' }), RangeError);
});

// A fault refuses a renewal, so that the lease ends; the owner gives back what another has had since.
async function givesBackLate(server) {
  await server.faults.add('renewals', Action.error('ERR as asked'), { on: 'LOCK.RENEW' });
  await server.faults.exempt(false);
  await server.command('LOCK.ACQUIRE', 'order:42', 'first', 'PX', 1000);
  await assert.rejects(server.command('LOCK.RENEW', 1, 'order:42', 'first', 'PX', 1000), /as asked/);
  await server.clock.advance(1000);
  await server.command('LOCK.ACQUIRE', 'order:42', 'second');
  await server.command('LOCK.RELEASE', 'order:42', 'second');
  await assert.rejects(server.command('LOCK.RELEASE', 'order:42', 'first'), /LOCKLOST/);
}

test('what is only suspect fails a test that minds it', async () => {
  const minding = await startServer({ verify: 'suspect', time: 'manual' });
  await givesBackLate(minding);
  await assert.rejects(minding[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')](), (error) => {
    assert.match(error.message, /^suspect /);
    assert.ok(error.message.includes('renewals (ON LOCK.RENEW DO ERROR ERR as asked): hits=1'), error.message);
    return true;
  });
  const other = await startServer({ verify: 'violation', time: 'manual' });
  await givesBackLate(other);
  await other[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
});

withServer('a report has history and findings', {}, async (server) => {
  await heldAndExpired(server);
  await overlap(server);
  const report = await server.report();
  assert.match(report, /\nfindings:\n {4}violation mutual-exclusion of order:42: /);
  assert.match(report, /\n {4}\d+ 8000 ms lost order:42 .*owner=first/);
  for (let line = 0; line < 200; line += 1) await server.history.mark(`line ${line}`);
  const long = await server.report();
  assert.match(long, /\(\d+ earlier entries\)/);
  assert.ok(long.includes('line 199') && !long.includes('line 50'));
});
