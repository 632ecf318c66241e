'use strict';
// The interface of the package: methods refuse options that they do not have, and their errors name the line that called.

/** Names of other libraries, and what they mean here. */
const MEANT = {
  ...{ timeout: 'limitMs', within: 'limitMs', wait: 'limitMs', clients: 'client', command: 'on', cmd: 'on', count: 'times' },
  ...{ exactly: 'exact', at_most: 'atmost', atmost: 'atmost', max: 'atmost' },
};

/** The most edits between two words of which one may be meant for the other. */
const NEAR = 2;

/**
 * Makes the methods of a class a part of the interface. Each of them returns a promise. `options` has the options of a
 * method by its name. `shown(name)` is the method as a refusal names it.
 */
function publish(Class, shown, options) {
  for (const name of Reflect.ownKeys(Class.prototype)) {
    const { value } = Object.getOwnPropertyDescriptor(Class.prototype, name);
    if (name === 'constructor' || typeof value !== 'function') continue;
    Object.defineProperty(Class.prototype, name, {
      value: published(value, shown(String(name)), options[name]),
      configurable: true,
      writable: true,
    });
  }
}

/** A function of the interface. */
function published(work, shown, known) {
  return function call(...args) {
    const caller = {};
    Error.captureStackTrace(caller, call);
    const at = (error) => thrownBy(caller, error);
    try {
      if (known !== undefined) checkOptions(shown, args[known.at], known.names);
      const result = work.apply(this, args);
      return result instanceof Promise ? result.catch((error) => Promise.reject(at(error))) : result;
    } catch (error) {
      return Promise.reject(at(error));
    }
  };
}

/** The names of the options of a method, and their place among its arguments. */
function optionsAt(at, ...names) {
  return { at, names };
}

/** Gives an error the stack of the line that called the package. */
function thrownBy(caller, error) {
  if (typeof error?.stack !== 'string') return error;
  const frames = caller.stack.split('\n').filter((line) => line.startsWith('    at '));
  error.stack = [String(error), ...frames].join('\n');
  return error;
}

/** Throws a TypeError for options that are no object, and for an option that is not known. */
function checkOptions(shown, given, known) {
  if (given === undefined) return;
  if (given === null || typeof given !== 'object' || Array.isArray(given)) {
    throw new TypeError(`${shown} takes its options as an object, not ${quoted(given)}`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${shown} has no option '${unknown}'${perhaps(unknown, known) || '.'} It has ${known.join(', ') || 'none'}`);
}

function quoted(value) {
  if (Array.isArray(value)) return `[${value.map(quoted).join(', ')}]`;
  return typeof value === 'string' ? `'${value}'` : String(value);
}

/** Asks whether the nearest of the known words was meant; empty if no word is near. */
function perhaps(word, known) {
  const meant = MEANT[word.toLowerCase()];
  const near = known
    // A duration has its unit behind its name.
    .flatMap((name) => [name, name.replace(/Ms$/, '')].map((as) => ({ name, as: as.toLowerCase() })))
    .map(({ name, as }) => ({ name, distance: edits(word.toLowerCase(), as) }))
    .filter(({ distance }) => distance <= NEAR && distance < word.length)
    .sort((one, other) => one.distance - other.distance);
  const nearest = known.includes(meant) ? meant : near[0]?.name;
  return nearest === undefined ? '' : `; did you mean '${nearest}'?`;
}

/** The number of letters to insert, delete or replace to make one word the other. */
function edits(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (const [at, wanted] of [...other].entries()) {
      next.push(Math.min(row[at + 1] + 1, next[at] + 1, row[at] + Number(letter !== wanted)));
    }
    row = next;
  }
  return row.at(-1);
}

module.exports = { checkOptions, optionsAt, perhaps, publish, published, quoted };
