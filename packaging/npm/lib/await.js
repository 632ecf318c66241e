'use strict';
// Waiting for a state instead of sleeping.

const { milliseconds } = require('./clock.js');

/** Each method resolves when the server is in that state, and rejects when the limit of real time passes first. */
class Await {
  #until;

  /** `until` sends an `AWAIT.*` command and rejects when it was not answered by 1. */
  constructor(until) {
    this.#until = until;
  }

  blocked(count, { key, limit } = {}) {
    return this.#until('AWAIT.BLOCKED', count, ...(key === undefined ? [] : ['KEY', key]), ...limited(limit));
  }

  waiters(key, count, { limit } = {}) {
    return this.#until('AWAIT.WAITERS', key, count, ...limited(limit));
  }

  subscribers(channel, count, { limit } = {}) {
    return this.#until('AWAIT.SUBSCRIBERS', channel, count, ...limited(limit));
  }

  key(key, state, { limit } = {}) {
    const condition = ['EXISTS', 'GONE'].includes(state) ? [state] : ['TYPE', state];
    return this.#until('AWAIT.KEY', key, ...condition, ...limited(limit));
  }
}

function limited(limit) {
  return limit === undefined ? [] : ['LIMIT', milliseconds(limit)];
}

module.exports = { Await };
