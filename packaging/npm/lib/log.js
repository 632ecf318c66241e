'use strict';
// What the server prints.

const readline = require('node:readline');
const { hostOf } = require('./arguments.js');

/** How many lines a report shows. */
const KEPT = 20;

/** How many of the first lines the error of a start has: where there is a cause, it stands there. */
const BEGIN = 10;

const PORTS = 'beside a unix socket it needs --port or --port-file';

/** Reads what the server prints and keeps the last lines. */
class Log {
  lines = [];
  /** What a topology has said of each of its servers. */
  servers = [];
  #listeners = new Set();
  #begin = [];

  read(stream) {
    readline.createInterface({ input: stream }).on('line', (line) => {
      this.lines = [...this.lines, line].slice(-KEPT);
      if (this.#begin.length < BEGIN) this.#begin.push(line);
      const server = /^(master|replica|sentinel) \[?(\S+?)\]?:(\d+)$/.exec(line);
      if (server !== null) {
        this.servers.push({ role: server[1], host: hostOf([server[2]]), port: Number(server[3]) });
      }
      for (const listener of this.#listeners) listener(line);
    });
  }

  /** The first lines and the last, of a server that does not start. */
  fromStart() {
    const said = this.lines.length < KEPT ? this.lines : [...this.#begin, '…', ...this.lines.slice(BEGIN - KEPT)];
    return said.join('\n').trim();
  }

  /**
   * Resolves to where the server listens when it says so: its port, and whether that is for TLS. Rejects when it listens
   * on a unix socket alone.
   */
  ready(isOverTls) {
    return new Promise((resolve, reject) => {
      const listener = (line) => {
        const found = /Ready to accept connections (tcp|tls), port=(\d+)/.exec(line);
        const socket = /The server is now ready to accept connections at (.+)/.exec(line);
        if (socket !== null && !isOverTls) reject(new Error(`the server is ready at ${socket[1]} and has no port: ${PORTS}`));
        if (found === null) return;
        this.#listeners.delete(listener);
        // Where it listens for plain clients too, that is what it says first.
        resolve({ port: Number(found[2]), tls: found[1] === 'tls' });
      };
      this.#listeners.add(listener);
    });
  }
}

module.exports = { Log };
