'use strict';
// A server with a password, and one over TLS alone.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { ReplyError, startServer } = require('../index.js');

/** Where `ca.crt` is, and the `.crt` and `.key` of `server` and `client` that it has signed. */
const FOLDER = process.env.LOCKWHEEL_TEST_CERTIFICATES;
const skip = FOLDER === undefined && 'LOCKWHEEL_TEST_CERTIFICATES does not say where certificates are';

const PASSWORD = 'p@ss w/ö%';
const LOGIN = ':p%40ss%20w%2F%C3%B6%25@';

/** The arguments of a server over TLS alone, to which clients must show a certificate. */
function overTls(t) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockwheel-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  const file = (name) => path.join(FOLDER, name);
  return [
    ...['--tls-port-file', path.join(folder, 'port')],
    ...['--tls-cert-file', file('server.crt'), '--tls-key-file', file('server.key')],
    ...['--tls-ca-cert-file', file('ca.crt')],
    ...['--tls-client-cert-file', file('client.crt'), '--tls-client-key-file', file('client.key')],
  ];
}

/** Starts a server that ends with the test. */
async function started(t, args) {
  const server = await startServer({ time: 'manual', args });
  t.after(() => server.stop());
  return server;
}

/** What goes over the package's own connections. */
async function allOfIt(server) {
  const big = 'x'.repeat(3_000_000);
  assert.equal(await server.command('SET', 'k', big), 'OK');
  assert.equal(await server.command('GET', 'k'), big);
  await server.command('PEXPIRE', 'k', 1000);
  assert.equal((await server.clock.advance(1000)).fired, 1);
  await server.await.key('k', 'GONE');
  await assert.rejects(server.command('NO'), (error) => error instanceof ReplyError && /^ERR unknown/.test(error.message));
  await server.reset();
  assert.match(await server.report(), /mode=manual/);
  assert.doesNotMatch(await server.report(), /AUTH|PEXPIRE|WRONGPASS/);
}

test('with a password', async (t) => {
  const server = await started(t, ['--requirepass', 'no', '--requirepass', PASSWORD]);
  assert.equal(server.url, `redis://${LOGIN}127.0.0.1:${server.port}`);
  await allOfIt(server);
  await server.command('CONFIG', 'SET', 'requirepass', 'other');
  // A wait has a connection of its own.
  await assert.rejects(server.await.blocked(0), /^ReplyError: WRONGPASS/);
});

test('over TLS alone', { skip }, async (t) => {
  const server = await started(t, overTls(t));
  assert.equal(server.url, `rediss://127.0.0.1:${server.port}`);
  await allOfIt(server);
});

test('over TLS with a password', { skip }, async (t) => {
  const server = await started(t, [...overTls(t), '--requirepass', PASSWORD]);
  assert.equal(server.url, `rediss://${LOGIN}127.0.0.1:${server.port}`);
  await allOfIt(server);
});

test("the server's own certificate is enough", { skip }, async (t) => {
  const server = await started(t, [...overTls(t).slice(0, 6), '--tls-auth-clients', 'no']);
  assert.equal(await server.command('PING'), 'PONG');
});

test('who listens for plain clients too is asked there', { skip }, async (t) => {
  const args = overTls(t);
  const server = await started(t, ['--port-file', `${args[1]}-plain`, ...args]);
  assert.equal(server.url, `redis://127.0.0.1:${server.port}`);
  assert.equal(await server.command('PING'), 'PONG');
});

test('a server whose certificates cannot be used does not go on', { skip }, async (t) => {
  const args = [...overTls(t), '--tls-client-cert-file', '/no/such.crt'];
  await assert.rejects(startServer({ args }), /ENOENT.*no.such\.crt/);
});
