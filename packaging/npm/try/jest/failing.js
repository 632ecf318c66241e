// Tests that fail on purpose: run by name, to see what is told of them.
const { Redis } = require('ioredis');
const { server } = require('lockwheel/jest');

const clients = [];
afterEach(() => clients.forEach((client) => client.disconnect()));

test('fails', async () => {
  const waiting = new Redis(process.env.REDIS_URL, { connectionName: 'who-waits' });
  clients.push(waiting);
  waiting.blpop('list', 0).catch(() => {});
  await server.await.blocked(1);
  await server.history.mark('the order is paid');
  await server.command('SET', 'order:42', 'paid');
  expect('paid').toBe('cancelled');
});

test('overlaps', async () => {
  await server.history.enter('order:42', 'first');
  await server.history.enter('order:42', 'second');
});

test('waits in vain', async () => {
  await server.command('SET', 'k', 'v');
  await server.await.key('k', 'GONE', { limitMs: 10 }); // in vain
});

test('is refused', async () => {
  await server.command('PING');
  await server.command('NOPE'); // refused
});
