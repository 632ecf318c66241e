'use strict';
// A server from its start to its end.

const assert = require('node:assert/strict');
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { test } = require('node:test');
const { ReplyError, startServer } = require('../index.js');

const PACKAGE = JSON.stringify(require.resolve('../index.js'));

test('a server is where it says, and answers', async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  assert.equal(server.url, `redis://${server.host}:${server.port}`);
  assert.equal(server.host, '127.0.0.1');
  assert.deepEqual(await server.command('EVAL', "return {1, 'two', false, {redis.error_reply('ERR four')}}", 0), [
    1,
    'two',
    null,
    [new ReplyError('ERR four')],
  ]);
  await assert.rejects(server.command('GET'), (error) => error instanceof ReplyError && error.code === 'ERR');
  assert.deepEqual(await Promise.all([server.command('INCR', 'n'), server.command('INCR', 'n')]), [1, 2]);
  assert.equal((await server.command('HELLO', 3)).get('proto'), 3);
  assert.equal((await server.clock.info()).mode, 'real');
  await server.stop();
  await server.stop();
  await assert.rejects(server.command('PING'), /ECONNREFUSED/);
  await assert.rejects(server.command('PING'), /^Error: the server has ended: it was stopped \(/);
  await assert.rejects(server.clock.advance(1), /^Error: the server has ended: it was stopped \(/);
  await assert.rejects(server.await.key('k', 'GONE'), /^Error: the server has ended: it was stopped \(/);
});

test('options reach the server', async () => {
  const instant = new Date('2030-01-01T00:00:00.500Z');
  const draw = async () => {
    const server = await startServer({ time: instant, seed: 7n, args: ['--maxclients', 99] });
    const { mode, wall } = await server.clock.info();
    assert.deepEqual({ mode, wall }, { mode: 'manual', wall: instant });
    assert.deepEqual(await server.command('CONFIG', 'GET', 'maxclients'), ['maxclients', '99']);
    await server.command('SADD', 's', ...Array.from({ length: 100 }, (_, index) => index));
    const drawn = await server.command('SRANDMEMBER', 's', 20);
    await server.stop();
    return drawn;
  };
  assert.deepEqual(await draw(), await draw());
});

test('reset makes a server as it was at its start', async (t) => {
  const server = await startServer({ time: 'manual' });
  t.after(() => server.stop());
  const client = net.connect(server.port, server.host).resume();
  await once(client, 'connect');
  await server.command('SET', 'k', 'v');
  await server.command('CONFIG', 'SET', 'maxclients', 50);
  await server.clock.resume();
  const cut = once(client, 'close');
  await server.reset();
  await cut;
  assert.equal(await server.command('DBSIZE'), 0);
  assert.notDeepEqual(await server.command('CONFIG', 'GET', 'maxclients'), ['maxclients', '50']);
  assert.equal((await server.clock.info()).mode, 'manual');
});

test('the connection opens again when it was cut', async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const id = await server.command('CLIENT', 'ID');
  const other = net.connect(server.port, server.host).resume();
  other.write('CLIENT KILL SKIPME yes\r\n');
  await once(other, 'data');
  await assert.doesNotReject(async () => {
    // The end of the old connection may still be on its way.
    while ((await server.command('CLIENT', 'ID').catch(() => id)) === id);
  });
});

test('a server is disposed of', async () => {
  const server = await startServer();
  await server[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
  await assert.rejects(server.command('PING'), /ECONNREFUSED/);
});

test('a server that does not start says why', async () => {
  await assert.rejects(startServer({ args: ['--no-such-parameter', '1'] }), /no-such-parameter/);
  await assert.rejects(startServer({ binary: '/no/such/program' }), /\/no\/such\/program does not start: .*ENOENT/);
  const { LOCKWHEEL_BINARY } = process.env;
  process.env.LOCKWHEEL_BINARY = 'no/program';
  await assert.rejects(startServer(), /^Error: LOCKWHEEL_BINARY, \/.*\/no\/program, does not start: .*ENOENT/);
  process.env.LOCKWHEEL_BINARY = LOCKWHEEL_BINARY;
});

test('a server that nobody stops neither keeps its process alive nor outlives it', async (t) => {
  const script = `require(${PACKAGE}).startServer().then(({ port }) => console.log(port))`;
  const { status, stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  assert.equal(status, 0);
  assert.match(stdout, /^\d+\n$/);

  const parent = spawn(process.execPath, ['-e', `${script}; setInterval(() => {}, 1e6)`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => parent.kill('SIGKILL'));
  const [port] = await once(parent.stdout, 'data');
  const client = net.connect(Number(port), '127.0.0.1');
  client.write('PING\r\n'); // a connection that the server had not accepted would be reset at its end
  await once(client, 'data');
  const closed = once(client, 'close');
  parent.kill('SIGKILL');
  await closed;
});

test('how long a start takes', async (t) => {
  const taken = [];
  for (let turn = 0; turn < 20; turn += 1) {
    const begun = performance.now();
    const server = await startServer();
    taken.push(performance.now() - begun);
    await server.stop();
  }
  taken.sort((one, other) => one - other);
  const [least, median, most] = [taken[0], (taken[9] + taken[10]) / 2, taken[19]].map((time) => time.toFixed(1));
  t.diagnostic(`from startServer() to ready, 20 starts: median ${median} ms (${least} to ${most} ms)`);
});
