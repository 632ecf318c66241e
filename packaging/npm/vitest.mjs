// Vitest's set-up file, `setupFiles: ['lockwheel/vitest']`, and what a test imports to have the worker's server.

import { isMainThread } from 'node:worker_threads';
import { afterAll, afterEach, beforeEach, inject } from 'vitest';
import failure from './lib/failure.js';
import worker from './lib/worker.js';

/** The worker's server, as at its start before each test. */
export const server = await worker.workerServer(inject('lockwheel'));

process.env.REDIS_URL = server.url;

// What runs a test can be wrapped in Vitest 2 to 4, so that the report is of the moment of the failure; in Vitest 5 it
// is of the end of the test's hooks. The module is named by a variable because Vite looks for what a literal names.
const suite = 'vitest/suite';
const { getFn, setFn } = await import(/* @vite-ignore */ suite).catch(() => ({}));
const wrapped = new WeakSet();

beforeEach(async ({ onTestFailed, task }) => {
  await worker.refresh(server, process.env);
  let report;
  if (setFn !== undefined && !wrapped.has(task)) {
    wrapped.add(task);
    const test = getFn(task);
    setFn(task, async () => {
      try {
        await test();
      } catch (error) {
        report = await server.report();
        throw error;
      }
    });
  }
  onTestFailed(async () => {
    const error = task.result.errors.at(-1);
    // A finding has the report with it.
    if (error.name === 'FindingsError') return;
    failure.attach(error, report ?? (await server.report()));
  });
});

// What the history has of what a test did fails it, where `verify` says so.
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') await server.check();
});

// A thread can end while its process, on which the server depends, goes on.
if (!isMainThread) afterAll(worker.endWorkerServers);
