'use strict';
// What the server prints.

const readline = require('node:readline');

/** How many lines a report shows. */
const KEPT = 20;

/** Reads what the server prints and keeps the last lines. */
class Log {
  lines = [];
  #listeners = new Set();

  read(stream) {
    readline.createInterface({ input: stream }).on('line', (line) => {
      this.lines = [...this.lines, line].slice(-KEPT);
      for (const listener of this.#listeners) listener(line);
    });
  }

  /** Resolves to the port when the server says that it listens. */
  port() {
    return new Promise((resolve) => {
      const listener = (line) => {
        const found = /Ready to accept connections.*\bport=(\d+)/.exec(line);
        if (found === null) return;
        this.#listeners.delete(listener);
        resolve(Number(found[1]));
      };
      this.#listeners.add(listener);
    });
  }
}

module.exports = { Log };
