'use strict';
// What the server knows, as text for a test that has failed.

const { Verdict } = require('./methods.js');
const { fields } = require('./resp.js');

/** How the names of commands begin by which tests and fixtures steer the server. */
const STEERING = [
  ...['CLOCK.', 'AWAIT.', 'CONTROL.', 'FAULT.', 'LOCK.HISTORY', 'LOCK.VERIFY', 'LOCK.OBSERVE'],
  ...['SLOWLOG', 'CLIENT LIST'],
];

/** How many entries of the history a report shows, the last ones. */
const ENTRIES_SHOWN = 100;

/** The most same commands in a row which have each a line of its own. */
const RUN_SHOWN = 2;

/** The end of a lease of Redisson's, as a line of the history. */
const LOST =
  /^\d+ \d+ ms lost (.+?) db=\d+ kind=foreign .*owner=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+(?::write)? .*cause=expired/;

/** The parts of a report, in order: a title, and what makes its lines. */
const PARTS = [
  ['clock', clockLines],
  ['waiting', waitingLines],
  ['faults that acted', faultLines],
  ['findings', foundLines],
  ['history', historyLines],
  ['last commands', commandLines],
];

/** The parts of the report of a server that answers `command` and has printed `log`; it may have ended. */
async function report(command, log) {
  const parts = PARTS.map(async ([name, lines]) => [name, await lines(command).catch((error) => [error.message])]);
  const told = [...(await Promise.all(parts)), ['log', log]];
  return told.flatMap(([name, lines]) => [`${name}:`, ...lines.map((line) => `    ${line}`)]).join('\n');
}

async function clockLines(command) {
  const { mode, wall, ...rest } = fields(await command('CLOCK.INFO'));
  const told = Object.entries(rest).map(([name, value]) => `${name}=${value ?? '-'}`);
  return [[`mode=${mode}`, `wall=${wall} (${new Date(wall).toISOString()})`, ...told].join(' ')];
}

/** The clients that are blocked, with what they wait in. */
async function waitingLines(command) {
  const lines = (await command('CLIENT', 'LIST')).split('\n').filter((line) => line !== '');
  return lines
    .map((line) => Object.fromEntries(line.split(' ').map((pair) => pair.split(/=(.*)/s, 2))))
    .filter(({ flags, cmd }) => flags.includes('b') && !cmd.startsWith('await.'))
    .map(({ id, name, addr, cmd }) => `id=${id} name=${name} addr=${addr} cmd=${cmd}`);
}

async function faultLines(command) {
  const rules = (await command('FAULT.LIST')).map(fields).filter(({ hits }) => hits > 0);
  return rules.map(({ name, rule, hits, held }) => `${name} (${rule}): hits=${hits} held=${held}`);
}

async function foundLines(command) {
  const verdict = Verdict(await command('LOCK.VERIFY', 'LEVEL', 'SUSPECT'));
  // The history may be off.
  return [...verdictLines(verdict), ...watchdogLines(await historyLines(command).catch(() => []))];
}

/** A note for advances that may have ended a lease which Redisson's watchdog would have renewed. */
function watchdogLines(entries) {
  const turned = entries.slice(entries.findIndex((line) => line.includes(' ms clock ')) + 1 || entries.length);
  const keys = [...new Set(turned.map((line) => LOST.exec(line)?.[1]).filter(Boolean))];
  if (keys.length === 0) return [];
  const locks = keys.length === 1 ? `${keys[0]} was` : `${keys[0]} and ${keys.length - 1} more were`;
  return [
    `note: ${locks} lost by expiry after the clock was turned. Redisson's watchdog renews a lock in real time, which the ` +
      'clock does not turn: without a lease time of its own a lock needs a small lockWatchdogTimeout, turns shorter than ' +
      "that, and await.event('renewed') after each",
  ];
}

/** The last entries of the history. */
async function historyLines(command) {
  const { last } = fields(await command('LOCK.HISTORY', 'COUNT', 0));
  const earlier = Math.max(0, last - ENTRIES_SHOWN);
  const text = String(await command('LOCK.HISTORY', 'SINCE', earlier, 'FORMAT', 'TEXT'));
  return [...(earlier > 0 ? [`(${earlier} earlier entries)`] : []), ...text.split('\n').filter((line) => line !== '')];
}

/** Groups adjacent elements that have the same name. */
function runs(all, name) {
  const found = [];
  for (const each of all) {
    const run = found.at(-1);
    if (run !== undefined && name(run[0]) === name(each)) run.push(each);
    else found.push([each]);
  }
  return found;
}

/** The last commands, the newest last, each with who sent it; of the same in a row one line. */
async function commandLines(command) {
  const entries = (await command('SLOWLOG', 'GET', -1)).reverse();
  const commands = entries
    .map(([, , , words, address, name]) => ({ text: words.map(String).join(' '), client: name || address }))
    .filter(({ text }) => !STEERING.some((prefix) => text.toUpperCase().startsWith(prefix)));
  return runs(commands, ({ text }) => text).flatMap(linesOfRun);
}

/** The lines of a command that was sent once or several times in a row. */
function linesOfRun(run) {
  if (run.length <= RUN_SHOWN) return run.map(({ text, client }) => `${client}: ${text}`);
  const [{ text, client }] = run;
  const clients = new Set(run.map((command) => command.client)).size;
  return [clients === 1 ? `${client}: ${text} (${run.length} times)` : `${text} (${run.length} times, ${clients} clients)`];
}

/** A verdict as a report shows it: the findings, or that there are none. */
function verdictLines({ findings, verdict, reason, leftOut }) {
  const told = ({ level, invariant, key, text }) => `${level} ${invariant}${key ? ` of ${key}` : ''}: ${text}`;
  const lines = findings.length > 0 ? findings.map(told) : [reason ? `${verdict}: ${reason}` : verdict];
  return leftOut > 0 ? [...lines, `and ${leftOut} more`] : lines;
}

module.exports = { report, verdictLines };
