#!/usr/bin/env node
'use strict';
// The program itself, as `npx lockwheel …`: same arguments, same streams, same signals, same exit code.

const { spawn } = require('node:child_process');
const { findBinary } = require('../lib/binary.js');

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];

function fail(error) {
  process.stderr.write(`lockwheel: ${error.message}\n`);
  process.exit(1);
}

function run(binary) {
  const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
  child.on('error', fail);
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    // Whoever started this sees how the program ended.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

try {
  run(findBinary());
} catch (error) {
  fail(error);
}
