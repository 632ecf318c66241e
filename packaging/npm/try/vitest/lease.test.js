import Redis from 'ioredis';
import { server } from 'lockwheel/vitest';
import { expect, test } from 'vitest';

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;
const acquire = (redis, owner) => redis.set('lock:order:42', owner, 'PX', 8000, 'NX');
const release = (redis, owner) => redis.eval(RELEASE, 1, 'lock:order:42', owner);

test('a lease runs out while its holder works', async () => {
  const redis = new Redis(process.env.REDIS_URL);
  await server.clock.freeze();
  expect(await acquire(redis, 'first')).toBe('OK');
  await server.clock.advance(7999);
  expect(await acquire(redis, 'second')).toBe(null);

  await server.clock.advance(1); // the first works on, and its lease ends
  expect(await acquire(redis, 'second')).toBe('OK');
  expect(await release(redis, 'first')).toBe(0); // the first is told that it has lost the lock
  expect(await redis.get('lock:order:42')).toBe('second'); // and the second still holds it
  redis.disconnect();
});
