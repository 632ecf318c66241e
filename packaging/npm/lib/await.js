'use strict';
// Waiting for a state instead of sleeping.

const { optionsAt, publish } = require('./caller.js');
const { limited, milliseconds, options } = require('./words.js');

/** Each method resolves when the server is in that state, and rejects when the limit of real time passes first. */
class Await {
  #until;

  /** `until` sends an `AWAIT.*` command, resolves to its reply, and rejects when that is null. */
  constructor(until) {
    this.#until = until;
  }

  async blocked(count, { key, ...rest } = {}) {
    await this.#until('AWAIT.BLOCKED', ...counted(count, rest), ...options({ key }), ...limited(rest.limit));
  }

  async waiters(key, count, rest = {}) {
    await this.#until('AWAIT.WAITERS', key, ...counted(count, rest), ...limited(rest.limit));
  }

  async subscribers(channel, count, rest = {}) {
    await this.#until('AWAIT.SUBSCRIBERS', channel, ...counted(count, rest), ...limited(rest.limit));
  }

  async clients(count, { name, ...rest } = {}) {
    await this.#until('AWAIT.CLIENTS', ...counted(count, rest), ...options({ name }), ...limited(rest.limit));
  }

  async key(key, state, { limit } = {}) {
    const condition = /^(exists|gone)$/i.test(state) ? [state] : ['TYPE', state];
    await this.#until('AWAIT.KEY', key, ...condition, ...limited(limit));
  }

  async calls(command, count, { key, limit } = {}) {
    await this.#until('AWAIT.CALLS', command, count, ...options({ key }), ...limited(limit));
  }

  async idle(quiet, { name, limit } = {}) {
    await this.#until('AWAIT.IDLE', milliseconds(quiet), ...options({ name }), ...limited(limit));
  }

  event(event, { key, owner, since, count, limit } = {}) {
    return this.#until('AWAIT.EVENT', event, ...options({ key, owner, since, count }), ...limited(limit));
  }

  async fault(name, count = 1, { limit } = {}) {
    await this.#until('AWAIT.FAULT', name, count, ...limited(limit));
  }

  async held(name, count = 1, { limit } = {}) {
    await this.#until('AWAIT.HELD', name, count, ...limited(limit));
  }
}

/** So many: at least, exactly or at most. */
function counted(count, { exact = false, atmost = false }) {
  if (exact && atmost) throw new TypeError('a number is either exact or atmost');
  return [count, ...(exact ? ['EXACT'] : []), ...(atmost ? ['ATMOST'] : [])];
}

const COUNTED = ['exact', 'atmost', 'limit'];
publish(Await, (name) => `await.${name}`, {
  blocked: optionsAt(1, 'key', ...COUNTED),
  waiters: optionsAt(2, ...COUNTED),
  subscribers: optionsAt(2, ...COUNTED),
  clients: optionsAt(1, 'name', ...COUNTED),
  key: optionsAt(2, 'limit'),
  calls: optionsAt(2, 'key', 'limit'),
  idle: optionsAt(1, 'name', 'limit'),
  event: optionsAt(1, 'key', 'owner', 'since', 'count', 'limit'),
  fault: optionsAt(2, 'limit'),
  held: optionsAt(2, 'limit'),
});

module.exports = { Await };
