'use strict';
// What the server knows, as text for a test that has failed.

const { findingLines, verify } = require('./history.js');
const { fields } = require('./resp.js');

/** How the names of commands begin by which tests and fixtures steer the server. */
const STEERING = [
  ...['CLOCK.', 'AWAIT.', 'CONTROL.', 'FAULT.', 'LOCK.HISTORY', 'LOCK.VERIFY', 'LOCK.OBSERVE'],
  ...['SLOWLOG', 'CLIENT LIST'],
];

/** How many entries of the history a report shows, the last ones. */
const ENTRIES_SHOWN = 100;

/** The parts of a report, in order: a title, and what makes its lines. */
const PARTS = [
  ['clock', clockLines],
  ['waiting', waitingLines],
  ['faults that acted', faultLines],
  ['findings', verdictLines],
  ['history', historyLines],
  ['last commands', commandLines],
];

/** The report of a server that answers `command` and has printed `log`. It tells even of a server that has ended. */
async function report(title, command, log) {
  const parts = PARTS.map(async ([name, lines]) => [name, await lines(command).catch((error) => [error.message])]);
  const told = [...(await Promise.all(parts)), ['log', log]];
  return [title, ...told.flatMap(([name, lines]) => [`${name}:`, ...lines.map((line) => `    ${line}`)])].join('\n');
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

async function verdictLines(command) {
  const { findings, verdict } = await verify(command, { level: 'suspect' });
  return findings.length > 0 ? findingLines(findings) : [verdict];
}

/** The last entries of the history, each with all that is known of it. */
async function historyLines(command) {
  const { last } = fields(await command('LOCK.HISTORY', 'COUNT', 0));
  const earlier = Math.max(0, last - ENTRIES_SHOWN);
  const { entries } = fields(await command('LOCK.HISTORY', 'SINCE', earlier));
  const begin = earlier > 0 ? [`(${earlier} earlier entries)`] : [];
  return [...begin, ...entries.map((entry) => entryLine(fields(entry)))];
}

function entryLine({ seq, wall: _, monotonic, event, key, ...rest }) {
  if (rest.waited === 0) delete rest.waited;
  const told = Object.entries(rest).filter(([, value]) => value !== null && value !== '');
  const words = told.map(([name, value]) => `${name}=${value}`);
  return [seq, `${monotonic} ms`, event, ...(key ? [key] : []), ...words].join(' ');
}

/** The last commands, the newest last, each with who sent it. */
async function commandLines(command) {
  const entries = (await command('SLOWLOG', 'GET', -1)).reverse();
  return entries
    .map(([, , , words, address, name]) => ({ text: words.map(String).join(' '), client: name || address }))
    .filter(({ text }) => !STEERING.some((prefix) => text.toUpperCase().startsWith(prefix)))
    .map(({ text, client }) => `${client}: ${text}`);
}

module.exports = { report };
