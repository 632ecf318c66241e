'use strict';
// What happened to locks, and what the server finds wrong in that.

const { optionsAt, publish, quoted } = require('./caller.js');
const { fields } = require('./resp.js');
const { options } = require('./words.js');

/** What happened to locks, whoever took them. */
class History {
  #command;

  constructor(command) {
    this.#command = command;
  }

  async entries(filters) {
    const { entries, truncated, ...rest } = fields(await this.#command('LOCK.HISTORY', ...words(filters)));
    return { ...rest, truncated: Boolean(truncated), entries: entries.map(entry) };
  }

  json(filters) {
    return this.#command('LOCK.HISTORY', ...words(filters), 'FORMAT', 'JSON');
  }

  edn(filters) {
    return this.#command('LOCK.HISTORY', ...words(filters), 'FORMAT', 'EDN');
  }

  async mark(text) {
    await this.#command('LOCK.MARK', text);
  }

  async observe(pattern) {
    await this.#command('LOCK.OBSERVE', pattern);
  }

  async unobserve(pattern) {
    await this.#command('LOCK.OBSERVE', 'DEL', pattern);
  }

  async enter(key, owner, { token } = {}) {
    await this.#command('LOCK.ENTER', key, owner, ...options({ token }));
  }

  async leave(key, owner) {
    return (await this.#command('LOCK.LEAVE', key, owner)) === 1;
  }
}

function words({ key, owner, since, count } = {}) {
  return options({ key, owner, since, count });
}

/** An entry; what it does not have is null. */
function entry(reply) {
  const { wall, clientname = null, ...rest } = fields(reply);
  return { ...NOTHING, ...rest, wall: new Date(wall), clientName: clientname };
}

const NOTHING = {
  ...{ db: null, key: null, kind: null, mode: null, owner: null, grant: null, holds: null, ttl: null, waited: null },
  ...{ cause: null, client: null, by: null, fault: null },
};

const FILTERS = ['key', 'owner', 'since', 'count'];
publish(History, (name) => `history.${name}`, {
  entries: optionsAt(0, ...FILTERS),
  json: optionsAt(0, ...FILTERS),
  edn: optionsAt(0, ...FILTERS),
  enter: optionsAt(2, 'token'),
});

/** What LOCK.VERIFY finds. */
async function verify(command, { key, level } = {}) {
  if (typeof (level ?? '') !== 'string') throw new TypeError(`level is a word such as 'violation', not ${quoted(level)}`);
  const reply = fields(await command('LOCK.VERIFY', ...options({ key, level: level?.toUpperCase() })));
  const { 'left-out': leftOut = 0, findings, truncated, ...rest } = reply;
  return { reason: null, ...rest, leftOut, truncated: Boolean(truncated), findings: findings.map(fields) };
}

/** A verdict as a report shows it: the findings, or that there are none. */
function verdictLines({ findings, verdict, reason, leftOut }) {
  const lines = findings.length > 0 ? findingLines(findings) : [reason ? `${verdict}: ${reason}` : verdict];
  return leftOut > 0 ? [...lines, `and ${leftOut} more`] : lines;
}

/** Findings as a report shows them. */
function findingLines(findings) {
  return findings.map(({ level, invariant, key, text }) => `${level} ${invariant}${key ? ` of ${key}` : ''}: ${text}`);
}

module.exports = { History, verdictLines, verify };
