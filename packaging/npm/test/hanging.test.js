'use strict';
// Servers of a topology that hang: control goes to one that answers.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { test } = require('node:test');
const { startServer } = require('../index.js');
const { IdleConnections, Route, Servers } = require('../lib/servers.js');
const { connect } = require('./client.js');

const BUSY = '-BUSY Redis is busy running a script.\r\n';
const OK = '+OK\r\n';

async function started(t, ...args) {
  const server = await startServer({ topology: 'sentinel 3 --replicas 1', time: 'manual', args });
  t.after(() => server.stop());
  const clients = [0, 0].map((place) => client(t, server, place));
  return { server, clients };
}

function client(t, server, place) {
  const made = connect(server.servers[place]);
  t.after(() => made.close());
  return made;
}

/** Whether the report says that the second server tells, for the first one hangs. */
async function isToldByTheSecond(server) {
  return (await server.report()).split('\n')[1] === `server 0 hangs: server 1 (${server.servers[1].address}) tells`;
}

test('control passes over a server that is silent', async (t) => {
  const { server, clients } = await started(t, '--enable-debug-command', 'yes');
  const sleep = clients[0].ask('DEBUG SLEEP 3600');
  // The history of another server leaves out one that hangs.
  const other = client(t, server, 1);
  while (!(await other.ask('LOCK.HISTORY COUNT 0')).includes('truncated\r\n:1'));
  assert.ok((await server.clock.advance(60_000)).fired > 0);
  // The promotion has cut the clients that were there.
  assert.match(await client(t, server, 1).ask('ROLE'), /master/);
  await server.await.key('k', 'GONE');
  assert.ok(await isToldByTheSecond(server));
  await server.faults.down(0);
  await sleep;
  assert.equal(await server.faults.up(0), true);
  assert.doesNotMatch(await server.report(), /server 0 hangs/);
});

test('control passes over a server that refuses all', async (t) => {
  const { server, clients } = await started(t, '--busy-reply-threshold', '1');
  const script = clients[0].ask("EVAL 'while true do end' 0");
  while (!(await clients[1].ask('PING')).startsWith('-BUSY'));
  assert.ok((await server.clock.advance(60_000)).fired > 0);
  // The promotion has cut the clients that were there.
  assert.match(await client(t, server, 1).ask('ROLE'), /master/);
  await server.await.key('k', 'GONE');
  assert.ok(await isToldByTheSecond(server));
  // A command is asked of the first one that lives.
  await assert.rejects(server.command('PING'), /^ReplyError: BUSY/);
  assert.equal(await server.command('SCRIPT', 'KILL'), 'OK');
  await script;
  assert.doesNotMatch(await server.report(), /server 0 hangs/);
});

/** A server that answers a request on a connection by what `replies` makes of the connection's number and the name. */
async function fake(t, replies) {
  const asked = [];
  const sockets = [];
  const listener = net.createServer((socket) => {
    const number = sockets.push(socket) - 1;
    socket.on('data', (piece) => {
      for (const [, name] of piece.toString().matchAll(/\*\d+\r\n\$\d+\r\n(.*)\r\n/g)) {
        asked.push(name);
        const reply = replies(number, name);
        if (reply !== undefined) socket.write(reply);
      }
    });
    socket.on('error', () => {});
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.after(() => (listener.close(), sockets.forEach((socket) => socket.destroy())));
  return { ...place(listener.address().port), asked, count: (name) => asked.filter((each) => each === name).length };
}

function place(port) {
  const host = '127.0.0.1';
  return { access: { password: '', tls: false, options: { host, port } }, isSentinel: false };
}

/** A server that has ended. */
async function dead() {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return place(port);
}

function steering(t, ...servers) {
  const control = new Route(new Servers(servers), { isSteering: true });
  t.after(() => control.close());
  return control;
}

const refusing = (_, name) => (name === 'FAULT.EXEMPT' ? OK : BUSY);

test('a server is asked until one answers', async (t) => {
  const late = await fake(t, (number) => (number < 2 ? undefined : OK));
  assert.equal(await steering(t, late, await dead()).send(['PING']), 'OK');
  assert.equal(late.count('PING'), 1);
  const [silent, last] = [await fake(t, () => undefined), await fake(t, () => OK)];
  const control = steering(t, silent, last);
  assert.deepEqual(await Promise.all([control.send(['PING']), control.send(['PING'])]), ['OK', 'OK']);
  const waits = new IdleConnections(new Servers([silent, last]));
  t.after(() => waits.close());
  assert.equal(await waits.ask(['AWAIT.KEY']), 'OK');
  assert.deepEqual([silent.count('PING'), last.count('PING'), silent.count('AWAIT.KEY')], [0, 2, 0]);
});

test('a request that was refused goes to the next server', async (t) => {
  const [busy, free] = [await fake(t, refusing), await fake(t, () => OK)];
  const control = steering(t, busy, free);
  assert.equal(await control.send(['CLOCK.ADVANCE', 1]), 'OK');
  assert.deepEqual([busy.count('CLOCK.ADVANCE'), free.count('CLOCK.ADVANCE'), control.asked], [1, 1, 1]);
  for (const other of [await dead(), await fake(t, refusing), await fake(t, () => undefined)]) {
    await assert.rejects(steering(t, await fake(t, refusing), other).send(['CLOCK.ADVANCE', 1]), /^ReplyError: BUSY/);
  }
  const untouched = await fake(t, () => OK);
  const other = await fake(t, (_, name) => (name === 'FAULT.EXEMPT' ? OK : '-ERR no\r\n'));
  await assert.rejects(steering(t, other, untouched).send(['CLOCK.ADVANCE', 1]), /^ReplyError: ERR no/);
  assert.deepEqual(untouched.asked, []);
});

test('a request behind one that takes long is not taken from its server', async (t) => {
  let go;
  // On its first connection it is silent behind the first request.
  const slow = await fake(t, (number, name) => {
    if (number > 0) return OK;
    if (name === 'FAULT.EXEMPT') return go === undefined ? OK : undefined;
    go ??= name;
    return undefined;
  });
  const other = await fake(t, () => OK);
  const control = steering(t, slow, other);
  const long = control.send(['CLOCK.ADVANCE', 1]);
  while (go === undefined) await new Promise(setImmediate);
  const second = control.send(['CLOCK.INFO']);
  while (slow.count('CLOCK.INFO') === 0) await new Promise(setImmediate);
  assert.deepEqual(other.asked, []);
  assert.equal(slow.count('CLOCK.ADVANCE'), 1);
  control.close();
  await Promise.all([assert.rejects(long), assert.rejects(second)]);
});
