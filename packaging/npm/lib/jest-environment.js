'use strict';
// Jest's environment for Node, with a server in it. Jest loads this once in each worker, outside of the tests' realm.

const { TestEnvironment } = require('jest-environment-node');
const { attach, hasReport } = require('./failure.js');
const { refresh, workerServer } = require('./worker.js');

/** Where a test file finds its server. */
const SERVER = Symbol.for('lockwheel.server');

/** The server is there before a test file is loaded, so a client may be made from REDIS_URL at its top. */
class LockwheelEnvironment extends TestEnvironment {
  #options;
  #reports = new WeakMap();

  constructor(config, context) {
    super(config, context);
    this.#options = config.projectConfig.testEnvironmentOptions.lockwheel;
  }

  async setup() {
    await super.setup();
    const server = await workerServer(this.#options);
    this.global[SERVER] = server;
    await this.#refresh();
  }

  #refresh() {
    return refresh(this.global[SERVER], this.global.process.env);
  }

  async handleTestEvent({ name, test }) {
    if (name === 'test_start') await this.#refresh();
    // What the history has of what a test did fails it, where `verify` says so.
    if (name === 'test_fn_success') {
      await this.global[SERVER].check().catch((error) => {
        // No line of the test is the one that did it: the line where it begins is told.
        const frames = String(test.asyncError?.stack).split('\n').filter((line) => line.startsWith('    at '));
        error.stack = [String(error), ...frames].join('\n');
        test.errors.push([error, test.asyncError]);
      });
    }
    // At the moment of the failure: later hooks may have closed the clients that wait.
    if ((name === 'test_fn_failure' || name === 'hook_failure') && test && !this.#reports.has(test)) {
      this.#reports.set(test, await this.global[SERVER].report());
    }
    if (name === 'test_done' && test.errors.length > 0) {
      const [error] = [test.errors[0]].flat();
      if (hasReport(error)) return;
      attach(error, this.#reports.get(test) ?? (await this.global[SERVER].report()));
    }
  }
}

module.exports = LockwheelEnvironment;
