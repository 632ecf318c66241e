// The semaphore of redis-semaphore, of two permits, over ioredis.
import Redis from "ioredis";
import { Semaphore } from "redis-semaphore";
import { follow } from "./steps.mjs";

const [port, name, lease] = process.argv.slice(2);
const client = new Redis(Number(port));
let semaphore;

await follow({
  take: async () => {
    const asked = new Semaphore(client, name, 2, {
      lockTimeout: Number(lease),
      refreshInterval: 0,
      acquireAttemptsLimit: 1,
      retryInterval: 1,
    });
    if (!(await asked.tryAcquire())) {
      return null;
    }
    semaphore = asked;
    return semaphore.identifier;
  },
  // What its timer calls.
  extend: () => semaphore._refresh(),
  release: async () => {
    const before = await client.zscore(`semaphore:${name}`, semaphore.identifier);
    await semaphore.release();
    return before !== null;
  },
});
