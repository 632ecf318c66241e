'use strict';
// What the server knows, as text for a test that has failed.

const { fields } = require('./resp.js');

/** How the names of commands begin by which tests and fixtures steer the server. */
const STEERING = ['CLOCK.', 'AWAIT.', 'CONTROL.', 'FAULT.', 'SLOWLOG', 'CLIENT LIST'];

/** The parts of a report, in order: a title, and what makes its lines. */
const PARTS = [
  ['clock', clockLines],
  ['waiting', waitingLines],
  ['faults that acted', faultLines],
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

/** The last commands, the newest last, each with who sent it. */
async function commandLines(command) {
  const entries = (await command('SLOWLOG', 'GET', -1)).reverse();
  return entries
    .map(([, , , words, address, name]) => ({ text: words.map(String).join(' '), client: name || address }))
    .filter(({ text }) => !STEERING.some((prefix) => text.toUpperCase().startsWith(prefix)))
    .map(({ text, client }) => `${client}: ${text}`);
}

module.exports = { report };
