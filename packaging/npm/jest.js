'use strict';
// To Jest this is the environment, `testEnvironment: 'lockwheel/jest'`; to a test within it, the worker's server.

Object.defineProperty(exports, '__esModule', { value: true });

const server = globalThis[Symbol.for('lockwheel.server')];

if (server === undefined) {
  exports.default = require('./lib/jest-environment.js');
} else {
  exports.server = server;
}
