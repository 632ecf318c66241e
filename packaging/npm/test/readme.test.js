'use strict';
// What the README shows is what is run.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');

const read = (name) => fs.readFileSync(path.join(__dirname, '..', name), 'utf8');

test('the README shows the test that is tried', () => {
  assert.ok(read('README.md').includes('```js\n' + read('try/vitest/lease.test.js') + '```\n'));
});

test('the README is one screen', () => {
  const lines = read('README.md').split('\n');
  assert.ok(lines.length <= 60, `${lines.length} lines`);
});
