'use strict';
// Several servers in one process, on one clock.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Action, startServer } = require('../index.js');
const { connect } = require('./client.js');

const START = new Date('2030-01-01T00:00:00Z');

async function started(t, options) {
  const server = await startServer({ time: START, ...options });
  t.after(() => server.stop());
  const clients = server.servers.map((one) => connect(one));
  t.after(() => clients.forEach((client) => client.close()));
  return { server, clients };
}

test('replicas have what their master has, on one clock', async (t) => {
  const { server, clients } = await started(t, { topology: 'replicas 2' });
  assert.deepEqual(
    server.servers.map(({ role }) => role),
    ['master', 'replica', 'replica'],
  );
  assert.equal(server.servers[0].port, server.port);
  assert.equal(server.servers[1].address, `127.0.0.1:${server.servers[1].port}`);
  await server.command('SET', 'k', 'v', 'PX', 1000);
  assert.equal(await clients[2].ask('GET k'), '$1\r\nv\r\n');
  assert.match(await clients[2].ask('SET k w'), /^-READONLY /);
  await server.clock.advance(1000);
  assert.equal(await clients[2].ask('GET k'), '$-1\r\n');
  await assert.rejects(server.reset(), /not reset/);
});

test('a lock that had not arrived is lost by a failover', async (t) => {
  const { server, clients } = await started(t, { topology: 'replicas 1 --lag 100' });
  assert.equal(await server.command('SET', 'order', 'first', 'NX', 'PX', 10_000), 'OK');
  await server.command('FAULT.FAILOVER', 1);
  assert.equal(await clients[1].ask('SET order second NX PX 10000'), '+OK\r\n');
  const { findings } = await server.verify({ level: 'violation' });
  assert.deepEqual(
    findings.map(({ invariant }) => invariant),
    ['mutual-exclusion'],
  );
});

test('servers fail by method', async (t) => {
  const { server, clients } = await started(t, { topology: 'replicas 2' });
  const both = () => Promise.all([clients[1].ask('GET k'), clients[2].ask('GET k')]);
  await server.faults.lagBy(100);
  await server.command('SET', 'k', 'v');
  assert.deepEqual(await both(), ['$-1\r\n', '$-1\r\n']);
  await server.clock.advance(100);
  assert.ok((await server.faults.part([2], [0])) > 0);
  await server.command('SET', 'k', 'w');
  await server.clock.advance(100);
  assert.deepEqual(await both(), ['$1\r\nw\r\n', '$1\r\nv\r\n']);
  assert.ok((await server.faults.partFromClients([2], 'IN')) > 0);
  await server.faults.heal();
  await server.faults.failoverTo(1, { tokens: true });
  assert.equal(await clients[1].ask('SET k x'), '+OK\r\n');
  await server.faults.down(2);
  assert.equal(await server.faults.up(2), true);
  await server.faults.down(2, { backAfterMs: 5000 });
  await server.clock.advance(5000);
  assert.equal(await server.faults.up(2), false);
});

test('a server that is killed can keep its data', async (t) => {
  const { server } = await started(t, { topology: 'replicas 1' });
  await server.command('SET', 'k', 'v');
  await server.faults.down(0, { keep: true });
  assert.equal(await server.faults.up(0), true);
  assert.equal(await server.command('GET', 'k'), 'v');
  await server.faults.down(0, { backAfterMs: 5000, keep: true });
  await server.clock.advance(5000);
  assert.equal(await server.command('GET', 'k'), 'v');
  await server.faults.down(0);
  assert.equal(await server.faults.up(0), true);
  assert.equal(await server.command('GET', 'k'), null);
  await assert.rejects(server.faults.down(0, { kep: true }), /faults.down has no option 'kep'; did you mean 'keep'\?/);
});

test('the nodes of a cluster and sentinels are told', async (t) => {
  const cluster = await started(t, { topology: 'cluster 3x1', args: ['--requirepass', 'secret'] });
  assert.equal(cluster.server.servers.length, 6);
  assert.equal(cluster.server.servers[5].url, `redis://:secret@${cluster.server.servers[5].address}`);
  assert.match(await cluster.server.command('CLUSTER', 'INFO'), /cluster_known_nodes:6/);
  const { server, clients } = await started(t, { topology: 'sentinel 3' });
  assert.deepEqual(
    server.servers.map(({ role }) => role),
    ['master', 'replica', 'sentinel', 'sentinel', 'sentinel'],
  );
  const told = await clients[4].ask('SENTINEL GET-MASTER-ADDR-BY-NAME mymaster');
  assert.match(told, new RegExp(`\\$${String(server.port).length}\r\n${server.port}\r\n`));
});

const port = async (server) => Number((await server.command('CONFIG', 'GET', 'port'))[1]);

test('control goes to a server that lives', async (t) => {
  const { server } = await started(t, { topology: 'sentinel 3 --replicas 1', seed: 7 });
  const [first, second] = server.servers;
  await server.command('SET', 'k', 'v');
  assert.equal(await port(server), first.port);
  await server.faults.down(0);
  assert.equal(await port(server), second.port);
  await server.await.key('k', 'EXISTS', { limitMs: 30_000 });
  assert.equal((await server.command('ROLE'))[0], 'slave');
  // The replica takes over meanwhile.
  assert.equal((await server.clock.advance(60_000, { settleMs: 1 })).settled, true);
  assert.equal((await server.command('ROLE'))[0], 'master');
  assert.equal(await server.command('SET', 'k', 'w'), 'OK');
  assert.equal((await server.verify()).verdict, 'ok');
  const { entries } = await server.history.entries();
  assert.deepEqual(
    entries.map(({ fault }) => fault).filter((fault) => fault !== null),
    ['FAULT.DOWN 0'],
  );
  await server.faults.add('rule', Action.error('ERR no'), { on: 'GET' });
  assert.equal((await server.faults.list()).length, 1);
  const report = await server.report();
  const title = [`lockwheel on ${first.address}, seed 7`, `server 0 is down: server 1 (${second.address}) tells`, 'clock:'];
  assert.ok(report.startsWith([...title, '    mode='].join('\n')), report);
  assert.doesNotMatch(report, /ECONN|was closed/);
  assert.equal(await server.faults.up(0), true);
  assert.equal(await port(server), first.port);
  assert.deepEqual(await server.faults.list(), []);
  assert.doesNotMatch(await server.report(), /is down/);
});

test('a wait goes on at another server when its own is killed', async (t) => {
  const { server, clients } = await started(t, { topology: 'replicas 1' });
  const waited = server.await.key('k', 'EXISTS', { limitMs: 60_000 });
  while (!(await clients[0].ask('CLIENT LIST')).includes('cmd=await.key'));
  await server.faults.down(0);
  await clients[1].ask('REPLICAOF NO ONE');
  assert.equal(await clients[1].ask('SET k v'), '+OK\r\n');
  await waited;
});

test('the last one that lives is not killed', async (t) => {
  const { server } = await started(t, { topology: 'cluster 3x1' });
  for (let place = 0; place < 5; place += 1) {
    await server.faults.down(place);
    assert.equal(await port(server), server.servers[place + 1].port);
  }
  await assert.rejects(server.faults.down(5), /the last running server/);
  await server.faults.up(3);
  assert.equal(await port(server), server.servers[3].port);
});

test('a transaction is not disturbed by the look for a server that lives', async (t) => {
  const { server } = await started(t, { topology: 'replicas 1' });
  await server.command('MULTI');
  await server.command('INCR', 'n');
  await server.command(Buffer.from('incr'), 'n');
  assert.deepEqual(await server.command('EXEC'), [1, 2]);
  const lines = ['MULTI', 'PING', 'INCR n', 'EXEC'].map((line) => server.command(...line.split(' ')));
  assert.deepEqual((await Promise.all(lines))[3], ['PONG', 3]);
});

test('an endless script does not keep its server from being killed', async (t) => {
  const { server, clients } = await started(t, { topology: 'replicas 1', args: ['--busy-reply-threshold', '1'] });
  const ended = clients[0].ask("EVAL 'while true do end' 0");
  const other = connect(server.servers[0]);
  t.after(() => other.close());
  while (!(await other.ask('GET k')).startsWith('-BUSY'));
  await server.faults.down(0);
  assert.equal(await ended, null);
  assert.equal(await port(server), server.servers[1].port);
});

test('what is no topology is refused, and one server has none', async (t) => {
  await assert.rejects(startServer({ topology: 'cluster x' }), /masters x replicas/);
  for (const empty of ['', ' ']) {
    await assert.rejects(startServer({ topology: empty }), { name: 'RangeError', message: /^topology is 'replicas N', .*, not ' ?'$/ });
  }
  await assert.rejects(startServer({ topology: 'sentinels 3' }), /There is no topology 'sentinels 3'.*Did you mean 'sentinel 3'/);
  const server = await startServer();
  t.after(() => server.stop());
  assert.deepEqual(server.servers, []);
});
