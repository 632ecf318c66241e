'use strict';
// Words of commands.

const { quoted } = require('./caller.js');

/** Whole milliseconds, as the server counts them. */
function milliseconds(duration) {
  if (Number.isSafeInteger(duration)) return duration;
  throw new RangeError(`a duration is a whole number of milliseconds, not ${quoted(duration)}`);
}

/** A limit of real time; without one the server has its own. */
function limited(limit) {
  return options({ limit: limit === undefined ? undefined : milliseconds(limit) });
}

/** Options, each behind its name, without those that are undefined. */
function options(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return given.flatMap(([name, value]) => [name.toUpperCase(), value]);
}

module.exports = { limited, milliseconds, options };
