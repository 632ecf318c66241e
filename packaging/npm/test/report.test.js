'use strict';
// The report of a test that has failed: what it leaves out, and what it adds.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { startServer } = require('../index.js');
const { attach, hasReport, show } = require('../lib/failure.js');
const { connect, withServer } = require('./client.js');

const OWNER = '4c4d25a0-6f2a-4d0f-9d2b-0d7b1b7f3c11:47';
const LOCK =
  "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1) " +
  "redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])";

/** The lines of one part of a report. */
function part(report, name) {
  const lines = report.split('\n');
  const begin = lines.indexOf(`${name}:`) + 1;
  return lines.slice(begin, lines.findIndex((line, at) => at >= begin && !line.startsWith(' '))).map((line) => line.trim());
}

withServer('many clients that come and go are one line', {}, async (server) => {
  const clients = Array.from({ length: 25 }, () => connect(server));
  for (const client of clients) await client.ask('PING');
  await server.await.clients(25); // its connection is there before the others go
  await server.history.mark('all are here');
  clients.forEach((client) => client.close());
  await server.await.event('disconnect', { count: 25 });
  const history = part(await server.report(), 'history');
  const come = history.find((line) => line.includes(' connect x'));
  assert.match(come, /^\d+-\d+ 0 ms connect x2[5-9] client=\d+-\d+$/);
  assert.match(history.at(-1), /^\d+-\d+ 0 ms disconnect x25 client=[\d,-]+$/);
  assert.ok(history.length < 8, history.join('\n'));
});

withServer('the same command in a row is one line', {}, async (server) => {
  const clients = [connect(server), connect(server)];
  for (const client of [...clients, ...clients]) await client.ask('PING');
  for (let turn = 0; turn < 3; turn += 1) await clients[0].ask('GET k');
  for (let turn = 0; turn < 2; turn += 1) await clients[0].ask('GET other');
  const told = part(await server.report(), 'last commands');
  assert.equal(told[0], 'PING (4 times, 2 clients)');
  assert.match(told[1], /^127\.0\.0\.1:\d+: GET k \(3 times\)$/);
  assert.match(told[2], /: GET other$/);
  assert.equal(told.length, 4);
  clients.forEach((client) => client.close());
});

withServer("a lock of Redisson's that a turned clock ended has a note", {}, async (server) => {
  const lock = (key) => server.command('EVAL', LOCK, 1, key, 30_000, OWNER);
  await lock('order:42');
  for (let turn = 0; turn < 3; turn += 1) await server.clock.advance(10_000);
  assert.equal(await server.command('EXISTS', 'order:42'), 0);
  const note = part(await server.report(), 'findings').at(-1);
  assert.match(note, /^note: order:42 was lost by expiry after the clock was turned\. Redisson's watchdog renews /);
  assert.match(note, /a small lockWatchdogTimeout, turns shorter than that, and await\.event\('renewed'\) after each$/);
  await lock('a');
  await lock('b');
  await server.clock.advance(30_000);
  assert.match(part(await server.report(), 'findings').at(-1), /^note: order:42 and 2 more were lost by expiry/);
});

test('other locks have none', async (t) => {
  const notes = async (server) => part(await server.report(), 'findings').filter((line) => line.startsWith('note:'));
  const [turned, real] = await Promise.all([startServer({ time: 'manual' }), startServer()]);
  t.after(() => Promise.all([turned.stop(), real.stop()]));
  await turned.command('SET', 'plain', 'me', 'PX', 1000, 'NX');
  await turned.command('EVAL', LOCK, 1, 'other', 1000, 'me:1');
  await turned.command('EVAL', LOCK, 1, 'given:back', 1000, OWNER);
  await turned.command('DEL', 'given:back');
  await turned.clock.advance(1000);
  assert.deepEqual(await notes(turned), []);
  // Nobody has turned this clock.
  await real.command('EVAL', LOCK, 1, 'short', 1, OWNER);
  await real.await.event('lost', { limitMs: 30_000 });
  assert.deepEqual(await notes(real), []);
});

withServer('an error has one report', {}, async (server) => {
  const error = await server.await.blocked(1, { limitMs: 1 }).catch((failure) => failure);
  assert.ok(hasReport(error));
  assert.ok(!hasReport(new Error('lockwheel on fire')));
  show(error, undefined);
  assert.equal(error.message, 'AWAIT.BLOCKED 1 LIMIT 1: not within the limit');
  assert.match(error.diff, /^lockwheel on 127\.0\.0\.1:\d+, seed 0\n/);
  const other = Object.assign(new Error('1 is not 2'), { diff: '- 1\n+ 2' });
  show(other, await server.report());
  assert.equal(other.message, '1 is not 2');
  assert.match(other.diff, /^- 1\n\+ 2\n\nlockwheel on /);
  const attached = new Error('1 is not 2');
  attach(attached, await server.report());
  assert.ok(hasReport(attached));
});
