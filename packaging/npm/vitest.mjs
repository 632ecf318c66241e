// Vitest's set-up file, `setupFiles: ['lockwheel/vitest']`, and what a test imports to have the worker's server.

import { isMainThread } from 'node:worker_threads';
import { afterAll, afterEach, beforeEach, inject, vi } from 'vitest';
import failure from './lib/failure.js';
import worker from './lib/worker.js';

/** The worker's server, as at its start before each test. */
export const server = await worker.workerServer(inject('lockwheel'));

process.env.REDIS_URL = server.url;

// Vitest then knows the line where each test begins, which is that of findings.
vi.setConfig({ includeTaskLocation: true });

// What runs a test can be wrapped in Vitest 2 to 4, so that the report is of the moment of the failure; in Vitest 5 it
// is of the end of the test's hooks. The module is named by a variable because Vite looks for what a literal names.
const suite = 'vitest/suite';
const { getFn, setFn } = await quietly(() => import(/* @vite-ignore */ suite).catch(() => ({})));
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
    const has = failure.hasReport(error);
    failure.show(error, has ? undefined : (report ?? (await server.report())));
  });
});

// What the history has of what a test did fails it, where `verify` says so. No line of the test is the one that did it:
// the line where it begins is told.
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') return;
  await server.check().catch((error) => {
    const { line, column } = task.location ?? {};
    const place = line === undefined ? '' : `:${line}:${column}`;
    error.stack = `${error}\n    at ${task.file.filepath}${place}`;
    throw error;
  });
});

// Vitest 4.1 warns of the import, though it has nothing else that sets what runs a test: its `setTestFn` only reads.
async function quietly(work) {
  const { warn } = console;
  console.warn = (...words) => String(words[0]).includes(suite) || warn.apply(console, words);
  try {
    return await work();
  } finally {
    console.warn = warn;
  }
}

// A thread can end while its process, on which the server depends, goes on.
if (!isMainThread) afterAll(worker.endWorkerServers);
