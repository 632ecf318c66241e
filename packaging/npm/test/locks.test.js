'use strict';
// The typed methods of locks, semaphores, latches and rate limiters.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Action, startServer } = require('../index.js');
const { withServer } = require('./client.js');

withServer('a lock is taken, shown and released', {}, async ({ locks }) => {
  const grant = await locks.acquire('order:42', 'alice', { leaseMs: 5000, data: 'invoice' });
  assert.deepEqual([grant.token, grant.holds, grant.ttlMs], [1, 1, 5000]);
  assert.equal(await locks.acquire('order:42', 'bob'), null);
  const taken = await locks.acquire('order:42', 'bob', { getHolder: true });
  assert.deepEqual([taken.token, taken.holder, taken.position], [null, 'alice', 1]);

  const { holders, waiters, ...info } = await locks.info('order:42', { full: true });
  assert.deepEqual([info.mode, info.layout, info.ttlMs, info.grants], ['exclusive', 'hash', 5000, [1]]);
  assert.deepEqual([holders.length, holders[0].owner, holders[0].data, waiters], [1, 'alice', 'invoice', []]);
  assert.equal((await locks.info('other')).ttlMs, null);

  assert.equal(await locks.check('order:42', 1), true);
  await locks.assertHeld('order:42', 1);
  assert.deepEqual(await locks.renew(['order:42'], 'alice', 9000, { token: 1 }), [1]);
  assert.equal(await locks.transfer('order:42', 'alice', 'carol'), 2);
  assert.deepEqual(await locks.scan(0, { match: 'order:*' }), { cursor: 0, keys: ['order:42'] });
  assert.equal(await locks.forceUnlock('order:42', { owner: 'carol' }), 1);
});

withServer('several locks, fences and figures', {}, async ({ locks, history }) => {
  assert.equal((await locks.acquireAll(['a', 'b'], 'alice', { mode: 'shared' })).tokens.length, 2);
  assert.deepEqual(await locks.releaseAll(['a', 'b'], 'alice'), [0, 0]);
  assert.deepEqual(await locks.graph(), { locks: [], leftOut: 0, cycles: [] });
  assert.match(await locks.graphDot(), /^digraph/);
  await locks.fence('disk', 3);
  assert.equal((await locks.fenceInfo('disk')).highest, 3);
  assert.equal(await locks.fenceInfo('other'), null);
  assert.deepEqual(Object.keys(await locks.fences()), ['disk']);
  assert.equal(await locks.fenceReset(), 1);
  assert.equal((await history.stats({ key: 'a' })).holds, 1);
});

withServer('semaphores, latches and rates', {}, async ({ semaphores, latches, rates }) => {
  assert.equal(await semaphores.init('pool', 3), true);
  const permits = await semaphores.acquire('pool', 'alice', { permits: 2, leaseMs: 5000, ids: true });
  assert.deepEqual([permits.left, permits.ids.length], [1, 2]);
  assert.deepEqual((await semaphores.info('pool')).holders.map(({ ttlMs }) => ttlMs), [5000, 5000]);
  assert.equal(await semaphores.release('pool', 'alice', { ids: permits.ids }), 3);

  await latches.set('start', 1);
  assert.equal(await latches.wait('start'), null);
  assert.equal(await latches.countDown('start'), 0);
  assert.equal((await latches.wait('start')).state, 'absent');

  assert.equal(await rates.set('mail', 1, 60_000), true);
  assert.deepEqual(await rates.acquire('mail'), { allowed: true, left: 0, retryAfterMs: 0 });
  assert.equal((await rates.acquire('mail')).retryAfterMs, 60_000);
  assert.equal((await rates.throttle('api', 0, 1, 60_000)).limited, false);
  await assert.rejects(rates.throttle('api', 0, 1, 1500), RangeError);
});

withServer('faults meet locks as they meet commands', {}, async ({ faults, locks }) => {
  await faults.add('refuse', Action.error('BUSY now'), { on: 'lock.acquire' });
  assert.notEqual(await locks.acquire('a', 'alice'), null);
  await faults.exempt(false);
  await assert.rejects(locks.acquire('a', 'alice'), { message: 'BUSY now' });
  await assert.rejects(locks.convert('a', 'alice', 'shard'), /mode is one of SHARED, EXCLUSIVE, not 'shard'; did you mean 'SHARED'/);
});

test('options of the program have types', async (t) => {
  const server = await startServer({ lockHistoryMax: 100, lockJeopardyMs: 500, lockLedger: false, threads: 2 });
  t.after(() => server.stop());
  const names = ['lock-history-max', 'lock-jeopardy', 'lock-ledger'];
  const told = await Promise.all(names.map((name) => server.command('CONFIG', 'GET', name)));
  assert.deepEqual(told.map(([, value]) => value), ['100', '500', 'no']);
});
