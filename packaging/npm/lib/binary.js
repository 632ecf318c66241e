'use strict';
// Where the program is.

const fs = require('node:fs');
const path = require('node:path');

const NAME = 'lockwheel';

/** The packages that bring the program, by the platform as Node names it. The program is static: any libc will do. */
const PACKAGES = { 'linux x64': '@lockwheel/linux-x64' };

/**
 * Finds the program: what the caller says, then what the environment says, then the platform's package, then PATH.
 * Throws one sentence that names the platforms when there is none.
 */
function findBinary(wanted) {
  const found = wanted || process.env.LOCKWHEEL_BINARY || fromPackage() || fromPath();
  if (found) return found;
  const here = `${process.platform} ${process.arch}`;
  const reason =
    here in PACKAGES
      ? `the optional dependency ${PACKAGES[here]} is not installed`
      : `this is ${here} and there are packages for ${Object.keys(PACKAGES).join(', ')} (glibc or musl)`;
  throw new Error(
    `no lockwheel program: ${reason}; on other platforms than ${Object.keys(PACKAGES).join(', ')}, or without ` +
      'optional dependencies, put one on PATH or name it in LOCKWHEEL_BINARY',
  );
}

function fromPackage() {
  const name = PACKAGES[`${process.platform} ${process.arch}`];
  if (name === undefined) return undefined;
  try {
    return require.resolve(`${name}/bin/${NAME}`);
  } catch {
    return undefined;
  }
}

function fromPath() {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => path.join(folder, NAME)).find(isProgram);
}

/** Whether it can be run and is no script: what package managers put on PATH is our own launcher, which asks here. */
function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    if (!fs.statSync(file).isFile()) return false;
    const begin = Buffer.alloc(2);
    const descriptor = fs.openSync(file);
    fs.readSync(descriptor, begin);
    fs.closeSync(descriptor);
    return begin.toString('latin1') !== '#!';
  } catch {
    return false;
  }
}

module.exports = { findBinary };
