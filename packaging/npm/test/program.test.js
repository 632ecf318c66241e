'use strict';
// Where the program is found, and its launcher.

const assert = require('node:assert/strict');
const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const { findBinary } = require('../lib/binary.js');

const LAUNCHER = require.resolve('../bin/lockwheel.js');
const PROGRAM = findBinary();

/** Runs a test in an empty folder. */
function withFolder(name, body) {
  test(name, (t) => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockwheel-'));
    t.after(() => fs.rmSync(folder, { recursive: true }));
    return body(folder);
  });
}

function launch(environment, ...args) {
  const env = { ...process.env, LOCKWHEEL_BINARY: '', ...environment };
  const { status, stdout, stderr } = spawnSync(process.execPath, [LAUNCHER, ...args], { env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

withFolder('the program is named, told by the environment, or on PATH', (folder) => {
  fs.symlinkSync(PROGRAM, path.join(folder, 'lockwheel'));
  const PATH = `${path.join(folder, 'none')}${path.delimiter}${folder}`;
  const file = JSON.stringify(require.resolve('../lib/binary.js'));
  const script = `console.log(require(${file}).findBinary(process.argv[1]))`;
  const found = (env, ...args) =>
    spawnSync(process.execPath, ['-e', script, ...args], { env, encoding: 'utf8' }).stdout.trim();
  assert.equal(found({ PATH }), path.join(folder, 'lockwheel'));
  assert.equal(found({ PATH, LOCKWHEEL_BINARY: '/told' }), '/told');
  assert.equal(found({ PATH, LOCKWHEEL_BINARY: '/told' }, '/named'), '/named');
});

withFolder('without a program one sentence names the platforms', (folder) => {
  // What is on PATH after an installation is the launcher itself.
  fs.symlinkSync(LAUNCHER, path.join(folder, 'lockwheel'));
  const { status, stdout, stderr } = launch({ PATH: folder });
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /^lockwheel: no lockwheel program: .*linux x64.*LOCKWHEEL_BINARY\n$/);
});

test('the launcher is the program', () => {
  const { status, stdout } = launch({ LOCKWHEEL_BINARY: PROGRAM }, '--version');
  assert.equal(status, 0);
  assert.equal(stdout, spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' }).stdout);
  const refused = launch({ LOCKWHEEL_BINARY: PROGRAM }, '--no-such-parameter', '1');
  assert.equal(refused.status, spawnSync(PROGRAM, ['--no-such-parameter', '1']).status);
  assert.notEqual(refused.status, 0);
});

test('a signal to the launcher reaches the program', async (t) => {
  const launcher = spawn(process.execPath, [LAUNCHER, '--port', '0', '--bind', '127.0.0.1'], {
    env: { ...process.env, LOCKWHEEL_BINARY: PROGRAM },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => launcher.kill('SIGKILL'));
  let said = '';
  for await (const piece of launcher.stdout) {
    said += piece;
    // Once: a second one would end it at once.
    if (!launcher.killed && said.includes('Ready to accept connections')) launcher.kill('SIGTERM');
  }
  const code = launcher.exitCode ?? (await once(launcher, 'exit'))[0];
  assert.equal(code, 0);
});
