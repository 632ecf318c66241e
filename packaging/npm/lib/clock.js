'use strict';
// The clock that a test advances.

const { optionsAt, publish, quoted } = require('./caller.js');
const { fields } = require('./resp.js');
const { limited, milliseconds } = require('./words.js');

/** The two clocks of the server: the wall clock, on which keys expire, and the monotonic one, for waits. */
class Clock {
  #command;

  constructor(command) {
    this.#command = command;
  }

  freeze() {
    return this.#wall('CLOCK.FREEZE');
  }

  resume() {
    return this.#wall('CLOCK.RESUME');
  }

  reset() {
    return this.#wall('CLOCK.RESET');
  }

  step(duration) {
    return this.#wall('CLOCK.STEP', milliseconds(duration));
  }

  set(instant) {
    const since = Number(instant);
    if (!Number.isSafeInteger(since) && typeof instant !== 'number' && !(instant instanceof Date)) {
      throw new TypeError(`an instant is a Date, or milliseconds since 1970, not ${quoted(instant)}`);
    }
    return this.#wall('CLOCK.SET', milliseconds(since));
  }

  async advance(duration, options) {
    return turned(await this.#command('CLOCK.ADVANCE', milliseconds(duration), ...turnOptions(options)));
  }

  async next(count = 1, options = undefined) {
    const told = await this.#command('CLOCK.NEXT', 'COUNT', count, ...turnOptions(options));
    return told === null ? null : turned(told);
  }

  async info() {
    const { mode, wall, monotonic, offset, next, timers } = fields(await this.#command('CLOCK.INFO'));
    return { mode, wall: new Date(wall), monotonic, offset, next, timers };
  }

  async #wall(...args) {
    return new Date(await this.#command(...args));
  }
}

function turnOptions({ settle, limit, nowake = false } = {}) {
  const words = nowake ? ['NOWAKE'] : [];
  if (settle !== undefined) words.push('SETTLE', milliseconds(settle));
  return [...words, ...limited(limit)];
}

function turned(reply) {
  const { wall, fired, settled, what = [] } = fields(reply);
  return { wall: new Date(wall), fired, settled: settled === 1, what };
}

const TURN = ['settle', 'limit', 'nowake'];
publish(Clock, (name) => `clock.${name}`, { advance: optionsAt(1, ...TURN), next: optionsAt(1, ...TURN) });

module.exports = { Clock };
