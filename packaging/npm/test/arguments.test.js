'use strict';
// Parameters that decide how a server is reached.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { ReplyError, startServer } = require('../index.js');
const { Arguments, hostOf, split } = require('../lib/arguments.js');
const { hasReport } = require('../lib/failure.js');

/** An empty folder that ends with the test. */
function folder(t) {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'lockwheel-test-'));
  t.after(() => fs.rmSync(made, { recursive: true }));
  return made;
}

/** A server that ends with the test. */
async function started(t, options) {
  const server = await startServer(options);
  t.after(() => server.stop());
  return server;
}

test('a unix socket stands beside a free port', async (t) => {
  const socket = path.join(folder(t), 'x.s');
  const server = await started(t, { args: ['--unixsocket', socket] });
  assert.equal(await server.command('PING'), 'PONG');
  const client = net.connect(socket);
  client.write('PING\r\n');
  assert.equal(String(await once(client, 'data')), '+PONG\r\n');
  client.destroy();
  await server.stop();
  const topology = await started(t, { args: ['--unixsocket', socket], topology: 'replicas 1' });
  assert.equal(await topology.command('PING'), 'PONG');
});

test('a server that is ready without a port is refused', async (t) => {
  const [socket, file] = ['y.s', 'x.conf'].map((name) => path.join(folder(t), name));
  fs.writeFileSync(file, `unixsocket ${socket}\n`);
  const said = `the server is ready at ${socket} and has no port: beside a unix socket it needs --port or --port-file`;
  await assert.rejects(startServer({ args: [file] }), new Error(said));
  await assert.rejects(startServer({ args: ['--sentinel'] }), /^RangeError: args have --sentinel/);
});

test('a configuration file stands first', async (t) => {
  const file = path.join(folder(t), 'x.conf');
  fs.writeFileSync(file, 'maxclients 77\n');
  const server = await started(t, { args: [file, '--databases', 3] });
  assert.deepEqual(await server.command('CONFIG', 'GET', 'maxclients'), ['maxclients', '77']);
  assert.deepEqual(await server.command('CONFIG', 'GET', 'databases'), ['databases', '3']);
  await assert.rejects(startServer({ args: ['/no/such.conf'] }), ({ message }) => {
    return message.includes("'/no/such.conf'") && !message.includes('slowlog');
  });
});

test('a password is read as the server reads it', async (t) => {
  for (const [args, login] of [
    [["--requirepass 'x y'"], ':x%20y@'],
    [['--REQUIREPASS  "x\\x20y" '], ':x%20y@'],
    [['--requirepass', "'xy'"], ":'xy'@"],
    [['--requirepass', ''], ''],
    [['--save', '--requirepass', '--seed', '--seed', '5'], ':--seed@'],
  ]) {
    const server = await started(t, { args });
    assert.equal(await server.command('PING'), 'PONG');
    assert.equal(server.url, `redis://${login}127.0.0.1:${server.port}`);
    assert.ok((await server.report()).includes(`, seed ${args.includes('5') ? 5 : 0}\n`));
  }
});

test('words of a line are unquoted', () => {
  assert.deepEqual(split(` a "b c" 'd\\'e' `), ['a', 'b c', "d'e"]);
  assert.deepEqual(split('"a\\n\\xc3\\xa4\\\\n" "x\\"y" ä'), ['a\nä\\n', 'x"y', 'ä']);
  assert.deepEqual(split("'\\n' ''"), ['\\n', '']);
  assert.deepEqual(split("a 'b"), ["a 'b"]);
  assert.deepEqual(split("a 'b'c"), ["a 'b'c"]);
  assert.deepEqual(new Arguments(['x.conf', '--save', '--port', '1']).leading, ['x.conf']);
});

test('the address is the one that is bound', async (t) => {
  for (const bound of [[], ['*', '-::*'], ['::1 127.0.0.1']]) assert.equal(hostOf(bound), '127.0.0.1');
  assert.deepEqual([hostOf(['-::1']), hostOf(['127.0.0.2'])], ['::1', '127.0.0.2']);
  const addresses = Object.values(os.networkInterfaces()).flat();
  if (!addresses.some(({ address }) => address === '::1')) return;
  const server = await started(t, { args: ['--bind', '::1'] });
  assert.equal(await server.command('PING'), 'PONG');
  assert.deepEqual([server.host, server.url], ['::1', `redis://[::1]:${server.port}`]);
  const report = await server.report();
  assert.ok(report.startsWith('lockwheel on [::1]:'));
  assert.ok(hasReport(new Error(`in vain\n${report}`)));
  const topology = await started(t, { args: ['--bind', '::1'], topology: 'replicas 1' });
  assert.equal(await topology.command('PING'), 'PONG');
  assert.equal(topology.servers[1].url, `redis://[::1]:${topology.servers[1].port}`);
});

test('that no more clients are let in is told', async (t) => {
  const server = await started(t, { args: ['--maxclients', 1] });
  assert.equal(await server.command('PING'), 'PONG');
  for (let turn = 0; turn < 20; turn += 1) {
    await assert.rejects(server.clock.info(), (error) => {
      assert.equal(error.message, 'ERR max number of clients reached');
      return error instanceof ReplyError;
    });
  }
});

test('a topology refuses what would have no effect', async () => {
  for (const topology of ['cluster 3x1 --port 1', 'replicas 1 --lag 5 --bind ::1']) {
    await assert.rejects(startServer({ topology }), /^RangeError: topology has --.* it belongs into args$/);
  }
});

test('what has no reply is refused', async (t) => {
  const server = await started(t, {});
  await assert.rejects(server.command(), /^TypeError: a command has a name/);
  for (const mode of ['off', Buffer.from('SKIP')]) {
    await assert.rejects(server.command('client', 'Reply', mode), /^TypeError: CLIENT REPLY (OFF|SKIP) has no reply/);
  }
  assert.equal(await server.command('CLIENT', 'REPLY', 'ON'), 'OK');
  assert.equal(await server.command('PING'), 'PONG');
});
