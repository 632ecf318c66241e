'use strict';
// What the server prints.

const readline = require('node:readline');

/** How many lines a report shows. */
const KEPT = 20;

/** How many of the first lines the error of a start has: where there is a cause, it stands there. */
const BEGIN = 10;

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
      const server = /^(master|replica|sentinel) \S+:(\d+)$/.exec(line);
      if (server !== null) this.servers.push({ role: server[1], port: Number(server[2]) });
      for (const listener of this.#listeners) listener(line);
    });
  }

  /** The first lines and the last, of a server that does not start. */
  fromStart() {
    const said = this.lines.length < KEPT ? this.lines : [...this.#begin, '…', ...this.lines.slice(BEGIN - KEPT)];
    return said.join('\n').trim();
  }

  /** Resolves to where the server listens when it says so: its port, and whether that is for TLS. */
  ready() {
    return new Promise((resolve) => {
      const listener = (line) => {
        const found = /Ready to accept connections (tcp|tls), port=(\d+)/.exec(line);
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
