'use strict';
// The words of requests, which the generated methods use.

const { perhaps, quoted } = require('./caller.js');

const text = (value) => value;
const integer = text;
const number = text;
const bytes = text;

/** Whole milliseconds, as the server counts them. */
function ms(duration) {
  if (Number.isSafeInteger(duration)) return duration;
  throw new RangeError(`a duration is a whole number of milliseconds, not ${quoted(duration)}`);
}

/** Whole seconds, of milliseconds. */
function wholeSeconds(duration) {
  if (ms(duration) % 1000 === 0) return duration / 1000;
  throw new RangeError(`this duration is whole seconds in milliseconds, not ${quoted(duration)}`);
}

/** Milliseconds since 1970. */
function instant(value) {
  const since = Number(value);
  if (!Number.isSafeInteger(since) && typeof value !== 'number' && !(value instanceof Date)) {
    throw new TypeError(`an instant is a Date, or milliseconds since 1970, not ${quoted(value)}`);
  }
  return ms(since);
}

/** One of these words, in any case. */
const oneOf = (name, ...known) => (value) => {
  if (typeof value !== 'string') throw new TypeError(`${name} is a word such as '${known[0]}', not ${quoted(value)}`);
  if (known.some((word) => word.toLowerCase() === value.toLowerCase())) return value.toUpperCase();
  throw new RangeError(`${name} is one of ${known.join(', ')}, not '${value}'${perhaps(value, known)}`);
};

/** The state of a key, as AWAIT.KEY takes it. */
const state = (value) => (/^(exists|gone)$/i.test(value) ? [value] : ['TYPE', value]);

/** Places of servers, as a request lists them. */
function servers(places) {
  if (Array.isArray(places)) return places.join(',');
  throw new TypeError(`servers are a list of their places such as [0, 1], not ${quoted(places)}`);
}

/** Several texts. */
const texts = (name) => (values) => {
  if (Array.isArray(values)) return values;
  throw new TypeError(`${name} are a list of texts, not ${quoted(values)}`);
};

/** Several texts behind their number. */
const keys = (name) => (values) => [texts(name)(values).length, ...values];

/** That an argument has a value. */
function argument(arg) {
  if (Array.isArray(arg)) return ['ARG', ...arg];
  throw new TypeError(`arg is the place of an argument and its value such as [2, 'PX'], not ${quoted(arg)}`);
}

/** What a rule does, as words behind DO. */
class Action {
  constructor(words) {
    this.words = words;
    Object.freeze(this);
  }
}

/** Some clients; `words` name them, and `ofRule` do so in a rule. */
class Clients {
  constructor(words, ofRule) {
    this.words = words;
    this.ofRule = ofRule;
    Object.freeze(this);
  }
}

/** The words of an action, which stand behind all conditions of a rule. */
function action(value) {
  if (value instanceof Action) return [['DO', ...value.words]];
  throw new TypeError(`the action of a rule is one of those that Action makes, not ${quoted(value)}`);
}

/** The words that name clients. */
function clients(value) {
  if (value instanceof Clients) return value.words;
  throw new TypeError(`clients are some of those that Clients names, such as Clients.id(3), not ${quoted(value)}`);
}

/** The words that name clients in a rule. */
function ruleClients(value) {
  if (value?.ofRule === undefined) throw new TypeError('a rule names clients by id, name or lib');
  return value.ofRule;
}

module.exports = {
  ...{ Action, Clients, action, argument, bytes, clients, instant, integer, keys, ms, number, oneOf, ruleClients },
  ...{ servers, state, text, texts, wholeSeconds },
};
