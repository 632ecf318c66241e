'use strict';
// The clock, waiting for states, and the report.

const assert = require('node:assert/strict');
const net = require('node:net');
const { AwaitError } = require('../index.js');
const { START, withServer } = require('./client.js');

/** A client that has sent a command and waits for its reply. */
function waiting(server, command) {
  const client = net.connect(server.port, server.host);
  client.write(`${command}\r\n`);
  return client.resume();
}

withServer('the clock ends a lease', {}, async (server) => {
  await server.command('SET', 'lease', 'holder', 'PX', 30_000);
  assert.equal((await server.clock.advance(29_999)).fired, 0);
  assert.equal(await server.command('GET', 'lease'), 'holder');
  const turned = await server.clock.advance(1);
  assert.deepEqual(turned, { wall: new Date(START.getTime() + 30_000), fired: 1, settled: true, what: [] });
  assert.equal(await server.command('GET', 'lease'), null);
});

withServer('the clock is frozen, stepped, set, and runs on', { time: 'real' }, async ({ clock }) => {
  const wall = await clock.freeze();
  assert.deepEqual(await clock.step(-3_600_000), new Date(wall.getTime() - 3_600_000));
  assert.deepEqual(await clock.set(START), START);
  assert.deepEqual(await clock.set(START.getTime() + 1), new Date(START.getTime() + 1));
  const { mode, nextMs, offsetMs } = await clock.info();
  assert.deepEqual({ mode, nextMs }, { mode: 'manual', nextMs: null });
  assert.notEqual(offsetMs, 0);
  await clock.resume();
  await clock.reset();
  const info = await clock.info();
  assert.deepEqual([info.mode, info.offsetMs], ['real', 0]);
});

withServer('the clock goes from deadline to deadline', {}, async (server) => {
  for (const lease of [100, 200, 300]) await server.command('SET', `k${lease}`, 'v', 'PX', lease);
  assert.equal((await server.clock.info()).nextMs, 100);
  assert.deepEqual((await server.clock.next()).wall, new Date(START.getTime() + 100));
  assert.equal((await server.clock.next(2)).fired, 2);
  assert.equal(await server.clock.next(), null);
});

withServer('a turn settles', {}, async (server) => {
  await server.command('SET', 'k', 'v', 'PX', 10);
  const turned = await server.clock.advance(1000, { settleMs: 1, limitMs: 1000, nowake: true });
  assert.deepEqual([turned.fired, turned.settled], [1, true]);
});

withServer('durations are whole milliseconds', {}, async (server) => {
  await assert.rejects(server.clock.advance(1.5), RangeError);
  await assert.rejects(server.clock.advance('1s'), RangeError);
  await assert.rejects(async () => server.clock.set(new Date(NaN)), RangeError);
});

withServer('waiting replaces sleeping', {}, async (server) => {
  const client = waiting(server, 'BLPOP list 0');
  await server.await.blocked(1);
  await server.await.blocked(1, { key: 'list' });
  await server.await.key('list', 'GONE');
  const reader = waiting(server, 'SUBSCRIBE channel');
  await server.await.subscribers('channel', 1);
  await server.await.waiters('lock', 0);
  client.destroy();
  reader.destroy();
});

withServer('a test goes on while it waits', {}, async (server) => {
  const there = server.await.key('k', 'EXISTS');
  const list = server.await.key('l', 'list');
  await server.command('SET', 'k', 'v');
  await server.command('RPUSH', 'l', 'v');
  await Promise.all([there, list]);
});

withServer('who waits in vain is told what the server knows', { seed: 42 }, async (server) => {
  const client = waiting(server, 'BLPOP list 0');
  await server.await.blocked(1);
  await server.command('SET', 'order:42', 'paid');
  await assert.rejects(server.await.key('never', 'EXISTS', { limitMs: 1 }), (error) => {
    assert.ok(error instanceof AwaitError);
    assert.match(error.message, /^AWAIT.KEY never EXISTS LIMIT 1: not within the limit\n/);
    assert.match(error.message, /seed 42\nclock:\n {4}mode=manual wall=1893456000000 \(2030-01-01T00:00:00.000Z\)/);
    assert.match(error.message, /\nwaiting:\n {4}id=\d+ name= addr=127.0.0.1:\d+ cmd=blpop\nfaults that acted:\nfindings:\n/);
    assert.match(error.message, /127.0.0.1:\d+: SET order:42 paid\nlog:\n.*Ready to accept connections/);
    assert.doesNotMatch(error.message, /: (AWAIT|CLOCK|CLIENT LIST|SLOWLOG)/i);
    return true;
  });
  client.destroy();
});

withServer('a server that has ended still has a report', {}, async (server) => {
  await server.stop();
  assert.match(await server.report(), /\nclock:\n {4}.*ECONNREFUSED[^]*\nlog:\n[^]*Ready to accept connections/);
});
