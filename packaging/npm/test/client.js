'use strict';
// A client as tests have it, on a connection that no fault spares, and servers for them.

const net = require('node:net');
const { test } = require('node:test');
const { startServer } = require('../index.js');

const START = new Date('2030-01-01T00:00:00Z');

/** A client that asks by lines: `ask` resolves to the next piece that comes, or to null when the connection ends. */
function connect(server, name) {
  const socket = net.connect(server.port, server.host);
  const waiting = [];
  socket.on('data', (piece) => waiting.shift()?.(piece.toString()));
  socket.on('error', () => {});
  socket.on('close', () => waiting.splice(0).forEach((resolve) => resolve(null)));
  const ask = (line) =>
    new Promise((resolve) => {
      if (socket.destroyed) return resolve(null);
      waiting.push(resolve);
      return socket.write(`${line}\r\n`);
    });
  return { ask, close: () => socket.destroy(), named: () => ask(`CLIENT SETNAME ${name}`) };
}

/** Runs a test with a server of its own, whose clock stands. */
function withServer(name, options, body) {
  test(name, async (t) => {
    const server = await startServer({ time: START, ...options });
    t.after(() => server.stop());
    await body(server);
  });
}

module.exports = { START, connect, withServer };
