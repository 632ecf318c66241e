'use strict';
// The base of the generated groups of methods.

const { checkOptions, published } = require('./caller.js');

/** The server of a group: `ask` and `own` send a request that steers, or that faults meet; `until` one that waits. */
const STEERING = Symbol('lockwheel.steering');

/** A class with these methods. `isOwn`: they are a test's own commands, so that faults meet them. */
function group(name, methods, { isOwn = false } = {}) {
  class Group {
    constructor(steering) {
      this[STEERING] = steering;
    }
  }
  install(Group, (method) => `${name}.${method}`, methods, isOwn);
  return Group;
}

/** Gives a class these methods. `shown(name)` is a method as a refusal names it. */
function install(Class, shown, methods, isOwn = false) {
  for (const [name, { work, at, options }] of Object.entries(methods)) {
    const value = published(
      function call(...given) {
        return work(this[STEERING], given, isOwn);
      },
      shown(name),
      { at, names: Object.keys(options) },
    );
    Object.defineProperty(Class.prototype, name, { value, configurable: true, writable: true });
  }
}

/** A request. `parts` are its words and the functions that make words of the arguments; `read` reads the reply. */
function ask(parts, options, read, { avoids = false, prepares = false } = {}) {
  const work = async (steering, given, isOwn) => {
    const words = wordsOf(parts, options, given);
    if (prepares) await steering.prepare();
    return read(await (isOwn ? steering.own(words) : steering.ask(words, avoids ? given[0] : undefined)));
  };
  return { work, at: leading(parts), options };
}

/** A request that waits: its reply is null when the limit passes first. */
function wait(parts, options, read) {
  const work = async (steering, given) => read(await steering.until(wordsOf(parts, options, given)));
  return { work, at: leading(parts), options };
}

/** The method of faults that is no request. */
const exempt = { work: async (steering, [isExempt = true]) => steering.setExempt(isExempt), at: 1, options: {} };

/** An argument that may be left out: the word in front of it, and the word in its place. */
function optional(kind, word = '', otherwise = undefined) {
  return (value) => {
    if (value === undefined) return otherwise === undefined ? [] : [otherwise];
    return [...(word === '' ? [] : [word]), ...[kind(value)].flat()];
  };
}

/** The number of arguments before the options. */
function leading(parts) {
  return parts.filter((part) => typeof part === 'function').length;
}

function wordsOf(parts, options, given) {
  const values = [...given];
  const words = parts.flatMap((part) => (typeof part === 'function' ? part(values.shift()) : [part]));
  const named = values.shift() ?? {};
  const rest = Object.entries(options).flatMap(([name, [word, kind]]) => {
    const value = named[name];
    if (value === undefined || (kind === undefined && !value)) return [];
    return [...(word === '' ? [] : [word]), ...(kind === undefined ? [] : [kind(value)].flat())];
  });
  // The action of a rule stands behind all conditions.
  const at = words.findIndex((word) => Array.isArray(word));
  return at < 0 ? [...words, ...rest] : [...words.slice(0, at), ...rest, ...words[at], ...words.slice(at + 1)];
}

/** The constructor of an action, or of clients: the words, and for clients those within a rule. */
function made(parts, options, ruleParts, ruleOptions) {
  return (Class, shown) => (...given) => {
    checkOptions(shown, given[leading(parts)], Object.keys(options));
    return new Class(wordsOf(parts, options, given), ruleParts && wordsOf(ruleParts, ruleOptions, given));
  };
}

/** Gives a class its constructors. */
function attach(Class, makers) {
  for (const [name, maker] of Object.entries(makers)) Class[name] = maker(Class, `${Class.name}.${name}`);
}

module.exports = { STEERING, ask, attach, exempt, group, install, made, optional, wait };
