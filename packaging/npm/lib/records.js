'use strict';
// The readers of replies, which the generated methods use.

const { fields } = require('./resp.js');

const text = String;
/** An integer; a cursor is one in a text. */
const integer = (reply) => (typeof reply === 'string' ? Number(reply) : reply);
const number = Number;
const flag = Boolean;
const date = (reply) => new Date(reply);
const done = () => undefined;
/** Milliseconds in the form of PTTL; null if there is no end. */
const timeLeft = (reply) => (reply === null || reply < 0 ? null : reply);

/** What may be null, or missing. */
const maybe = (read) => (reply) => (reply === null || reply === undefined ? null : read(reply));
const list = (read) => (reply) => (reply ?? []).map(read);
const byName = (read) => (reply) => {
  return Object.fromEntries(Object.entries(fields(reply)).map(([name, each]) => [name, read(each)]));
};

/** An object; a field is its reader, perhaps behind its name in the reply. */
function record(known) {
  return (reply) => {
    const told = fields(reply);
    const read = ([name, as]) => [name, Array.isArray(as) ? as[1](told[as[0]]) : as(told[name])];
    return Object.fromEntries(Object.entries(known).map(read));
  };
}

/** An object whose fields are told apart by their positions. */
function tuple(known) {
  return (reply) => {
    const read = ([name, as], at) => [name, (Array.isArray(as) ? as[1] : as)(reply[at])];
    return Object.fromEntries(Object.entries(known).map(read));
  };
}

module.exports = { byName, date, done, flag, integer, list, maybe, number, record, text, timeLeft, tuple };
