// The mutex of redis-semaphore, over ioredis.
import Redis from "ioredis";
import { Mutex } from "redis-semaphore";
import { follow } from "./steps.mjs";

const [port, name, lease] = process.argv.slice(2);
const client = new Redis(Number(port));
let mutex;

await follow({
  take: async () => {
    const asked = new Mutex(client, name, {
      lockTimeout: Number(lease),
      refreshInterval: 0,
      acquireAttemptsLimit: 1,
      retryInterval: 1,
    });
    if (!(await asked.tryAcquire())) {
      return null;
    }
    mutex = asked;
    return mutex.identifier;
  },
  // What its timer calls.
  extend: () => mutex._refresh(),
  release: async () => {
    const before = await client.get(`mutex:${name}`);
    await mutex.release();
    return before === mutex.identifier;
  },
});
