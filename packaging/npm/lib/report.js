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

/** The most adjacent entries of clients that come, or that go, or same commands, which have each a line of its own. */
const RUN_SHOWN = 2;

/** How Redisson names an owner. */
const REDISSON = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+(:write)?$/;

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
  const { entries } = await lastEntries(command).catch(() => ({ entries: [] }));
  return [...verdictLines(verdict), ...watchdogLines(entries)];
}

/** A note for advances that may have ended a lease which Redisson's watchdog would have renewed. */
function watchdogLines(entries) {
  const turned = entries.slice(entries.findIndex(({ event }) => event === 'clock') + 1 || entries.length);
  const lost = turned.filter(({ event, cause, kind, owner }) => {
    return event === 'lost' && cause === 'expired' && kind === 'foreign' && REDISSON.test(owner);
  });
  const keys = [...new Set(lost.map(({ key }) => String(key)))];
  if (keys.length === 0) return [];
  const locks = keys.length === 1 ? `${keys[0]} was` : `${keys[0]} and ${keys.length - 1} more were`;
  return [
    `note: ${locks} lost by expiry after the clock was turned. Redisson's watchdog renews a lock in real time, which the ` +
      'clock does not turn: without a lease time of its own a lock needs a small lockWatchdogTimeout, turns shorter than ' +
      "that, and await.event('renewed') after each",
  ];
}

/** The last entries of the history, and how many there are before them. */
async function lastEntries(command) {
  const { last } = fields(await command('LOCK.HISTORY', 'COUNT', 0));
  const earlier = Math.max(0, last - ENTRIES_SHOWN);
  const { entries } = fields(await command('LOCK.HISTORY', 'SINCE', earlier));
  return { earlier, entries: entries.map(fields) };
}

/** The last entries of the history; of many clients that come or go one line. */
async function historyLines(command) {
  const { earlier, entries } = await lastEntries(command);
  const begin = earlier > 0 ? [`(${earlier} earlier entries)`] : [];
  const alike = runs(entries, ({ event }) => event);
  return [...begin, ...alike.flatMap((run) => (isOfMany(run) ? [runLine(run)] : run.map(entryLine)))];
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

/** Whether a run is of many clients that come or go. */
function isOfMany(run) {
  return run.length > RUN_SHOWN && ['connect', 'disconnect'].includes(run[0].event);
}

/** One line for the entries of many clients. */
function runLine(run) {
  const [first, last] = [run[0], run.at(-1)];
  const distinct = (name) => [...new Set(run.map((entry) => entry[name] ?? ''))];
  const when = first.monotonic === last.monotonic ? first.monotonic : `${first.monotonic}-${last.monotonic}`;
  const words = [`${first.seq}-${last.seq}`, `${when} ms`, `${first.event} x${run.length}`];
  const [nodes, names] = [distinct('node'), distinct('clientname')];
  // Each server numbers its own clients.
  if (nodes.length === 1) words.push(`client=${ranges(run.map(({ client }) => client))}`);
  if (names.length === 1 && names[0] !== '') words.push(`clientname=${names[0]}`);
  if (nodes.some((node) => node !== '')) words.push(`node=${nodes.join(',')}`);
  return words.join(' ');
}

/** Numbers in their order, neighbours as ranges: 3-20,22. */
function ranges(numbers) {
  const found = [];
  for (const number of numbers) {
    if (found.at(-1)?.[1] === number - 1) found.at(-1)[1] = number;
    else found.push([number, number]);
  }
  return found.map(([begin, end]) => (begin === end ? begin : `${begin}-${end}`)).join(',');
}

function entryLine({ seq, wall: _, monotonic, event, key, ...rest }) {
  if (rest.waited === 0) delete rest.waited;
  const told = Object.entries(rest).filter(([, value]) => value !== null && value !== '');
  const words = told.map(([name, value]) => `${name}=${value}`);
  return [seq, `${monotonic} ms`, event, ...(key ? [key] : []), ...words].join(' ');
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
