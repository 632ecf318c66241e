'use strict';
// Options that are none, and the lines to which errors point.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Action, startServer } = require('../index.js');
const { withServer } = require('./client.js');

withServer('unknown options are refused with the nearest known', {}, async (server) => {
  const refusals = [
    [() => startServer({ tim: 'manual' }), "startServer has no option 'tim'; did you mean 'time'? It has time, seed, "],
    [() => startServer({ veryfy: 'off' }), "did you mean 'verify'?"],
    [() => startServer('manual'), "startServer takes its options as an object, not 'manual'"],
    [() => startServer({ time: 0 }), "time is 'real', 'manual' or a Date, not 0"],
    [() => startServer({ args: '--port 0' }), 'args is a list of words, not --port 0'],
    [() => startServer({ args: ['--save', null] }), "args is a list of words such as ['--threads', '2']: null is no word"],
    [() => startServer({ binary: 2 }), 'binary is the path of a program, not 2'],
    [
      () => startServer({ topology: ['sentinel', '3'] }),
      "topology is a string such as 'sentinel 3 --replicas 1', not ['sentinel', '3']",
    ],
    [() => server.clock.set('x'), "an instant is a Date, or milliseconds since 1970, not 'x'"],
    [() => server.verify({ level: 2 }), "level is a word such as 'violation', not 2"],
    [() => server.faults.add('x', Action.hold(), { arg: 'PX' }), "its value such as [2, 'PX'], not 'PX'"],
    [() => server.faults.add('x', Action.hold(), { client: null }), 'a rule names clients by id, name or lib'],
    [() => server.faults.freezeClient('x'), "such as Clients.id(3), not 'x'"],
    [() => server.faults.part(1), 'servers are a list of their places such as [0, 1], not 1'],
    [() => startServer({ verify: 'violatoin' }), "not 'violatoin'; did you mean 'violation'?"],
    [
      () => server.await.blocked(1, { timeout: 30 }),
      "await.blocked has no option 'timeout'; did you mean 'limitMs'? It has exact, atmost, key, limitMs",
    ],
    [() => server.await.blocked(1, { foo: 30 }), "await.blocked has no option 'foo'. It has exact, "],
    [() => server.await.blocked(1, { atMost: true }), "did you mean 'atmost'?"],
    [() => server.await.waiters('k', 1, 'jobs'), "await.waiters takes its options as an object, not 'jobs'"],
    [() => server.await.subscribers('k', 1, { key: 'k' }), "await.subscribers has no option 'key'. It has exact"],
    [() => server.await.clients(1, { nam: 'k' }), "did you mean 'name'?"],
    [() => server.await.key('k', 'GONE', { limt: 1 }), "did you mean 'limitMs'?"],
    [() => server.await.calls('GET', 1, { keys: 'k' }), "did you mean 'key'?"],
    [() => server.await.idle(1, { wait: 1 }), "did you mean 'limitMs'?"],
    [() => server.await.event('lost', { ownr: 'k' }), "did you mean 'owner'?"],
    [() => server.await.fault('x', 1, { limits: 1 }), "did you mean 'limitMs'?"],
    [() => server.await.held('x', 1, { limits: 1 }), "did you mean 'limitMs'?"],
    [() => server.clock.advance(60, 20), 'clock.advance takes its options as an object, not 20'],
    [() => server.clock.advance(60, { setle: 20 }), "clock.advance has no option 'setle'; did you mean 'settleMs'? It has "],
    [() => server.clock.next(1, { noWake: true }), "did you mean 'nowake'?"],
    [() => server.faults.add('x', Action.hold(), { command: 'GET' }), "did you mean 'on'?"],
    [() => server.faults.lag({ keys: 'k' }), "did you mean 'key'?"],
    [() => server.faults.failover({ token: true }), "did you mean 'tokens'?"],
    [() => server.faults.restart(1000), 'faults.restart takes its options as an object, not 1000'],
    [() => server.faults.failoverTo(1, { token: true }), "did you mean 'tokens'?"],
    [() => server.history.entries({ cont: 1 }), "did you mean 'count'?"],
    [() => server.history.json({ cont: 1 }), "did you mean 'count'?"],
    [() => server.history.edn({ cont: 1 }), "did you mean 'count'?"],
    [() => server.history.enter('k', 'me', { tken: 1 }), "did you mean 'token'?"],
    [() => server.verify({ leve: 'lint' }), "verify has no option 'leve'; did you mean 'level'? It has key, level"],
    [() => server.reset({ keepclients: true }), "did you mean 'keepClients'?"],
    [async () => Action.dropReply({ closeafter: 1 }), "dropReply has no option 'closeafter'; did you mean 'closeAfterMs'?"],
    [async () => Action.dropRequest(5), 'Action.dropRequest takes its options as an object, not 5'],
  ];
  for (const [ask, said] of refusals) {
    await assert.rejects(ask, (error) => {
      assert.ok(error.message.includes(said), `${error.message} has no ${said}`);
      return true;
    });
  }
});

withServer('an error names the line that called', {}, async (server) => {
  const failing = [
    () => server.command('NOPE'),
    () => server.await.blocked(1, { limitMs: 1 }),
    () => server.clock.advance(0.5),
    () => server.clock.advance(1, { setle: 1 }),
    () => server.clock.step(0.5),
    () => server.faults.add('x', Action.hold(), { on: 'NOSUCH' }),
    () => server.faults.go('nope'),
    () => server.history.enter('k', 'me', { token: 'x' }),
    () => server.verify({ level: 'nope' }),
    () => startServer({ args: ['--nope'] }),
    () => Promise.all([server.command('PING'), server.command('NOPE')]),
  ];
  const wrong = [];
  for (const [index, ask] of failing.entries()) {
    await later();
    const error = await ask().then(() => new Error('it did not fail'), (failure) => failure);
    // The first frame is the line of that list.
    const frame = error.stack.split('\n').find((line) => line.startsWith('    at '));
    if (!frame?.includes(`${__filename}:${firstLine + index}:`)) wrong.push(`${index}: ${error.stack}`);
    if (!error.stack.startsWith(String(error))) wrong.push(`${index} has no message: ${error.stack}`);
  }
  assert.deepEqual(wrong, []);
});

test('an error of a server that has ended names the line that called', async () => {
  const server = await startServer();
  await server.stop();
  const ask = () => server.clock.info();
  const errors = await Promise.all([ask(), ask()].map((asked) => asked.catch((error) => error)));
  for (const error of errors) {
    assert.equal(error.code, 'ECONNREFUSED');
    assert.match(error.stack, /ECONNREFUSED.*\n    at ask .*caller\.test\.js/);
  }
});

/** The connection is open by now, by another line. */
const later = () => new Promise((resolve) => setImmediate(resolve));

/** The line of the first of those that fail. */
const lines = require('node:fs').readFileSync(__filename, 'utf8').split('\n');
const firstLine = lines.findIndex((line) => line.includes("command('NOPE'),")) + 1;
