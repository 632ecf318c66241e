'use strict';
// What a test runner's worker does with its server before each test.

const assert = require('node:assert/strict');
const net = require('node:net');
const { test } = require('node:test');
const { endWorkerServers, refresh, workerServer } = require('../lib/worker.js');

test('a server is reset, and stays where it is', async (t) => {
  t.after(endWorkerServers);
  const server = await workerServer({ seed: 42 });
  const env = {};
  await refresh(server, env);
  const { url } = server;
  await server.command('SET', 'left', 'behind');
  await refresh(server, env);
  assert.equal(await server.command('EXISTS', 'left'), 0);
  assert.deepEqual([env.REDIS_URL, server.url], [url, url]);
  assert.equal(await workerServer({ seed: 42 }), server);
});

test('a topology begins anew, though it has failed over', async (t) => {
  t.after(endWorkerServers);
  const server = await workerServer({ topology: 'replicas 1', time: 'manual', seed: 42 });
  const env = {};
  for (const _ of ['first', 'second', 'third']) {
    await refresh(server, env);
    assert.equal(env.REDIS_URL, server.url);
    assert.deepEqual(
      server.servers.map(({ role }) => role),
      ['master', 'replica'],
    );
    assert.equal(server.servers[0].port, server.port);
    assert.equal((await server.command('ROLE'))[0], 'master');
    assert.equal(await server.command('EXISTS', 'left'), 0);
    assert.equal((await server.clock.info()).monotonicMs < 1000, true);
    assert.match(await server.report(), /seed 42/);
    await server.command('SET', 'left', 'behind');
    await server.clock.advance(5000);
    await server.command('FAULT.FAILOVER', 1);
    assert.equal((await server.command('ROLE'))[0], 'slave');
  }
});

test('a server that cannot be reset is replaced', async (t) => {
  t.after(endWorkerServers);
  const server = await workerServer({ seed: 42 });
  const env = {};
  await server.command('CONFIG', 'SET', 'busy-reply-threshold', 10);
  // It stays connected: the server ends the script of a client that has gone.
  const client = net.connect(server.port, server.host).on('error', () => {});
  client.write(`EVAL "redis.call('set','a','b') while true do end" 0\r\n`);
  const busy = async () => {
    for (;;) await server.command('PING');
  };
  await assert.rejects(busy(), /^ReplyError: BUSY/);
  for (const _ of ['a script without end', 'a shutdown']) {
    const { url } = server;
    await refresh(server, env);
    assert.notEqual(server.url, url);
    assert.deepEqual([env.REDIS_URL, await server.command('DBSIZE')], [server.url, 0]);
    await assert.rejects(server.command('SHUTDOWN', 'NOSAVE'));
  }
  client.destroy();
});
