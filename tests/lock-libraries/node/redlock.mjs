// node-redlock, over ioredis, with one server.
import Redis from "ioredis";
import Redlock from "redlock";
import { follow } from "./steps.mjs";

const [port, name, lease] = process.argv.slice(2);
const redlock = new Redlock([new Redis(Number(port))], { retryCount: 0 });
let lock;

async function unlessLost(step) {
  try {
    await step();
    return true;
  } catch (error) {
    if (error instanceof Redlock.LockError) {
      return false;
    }
    throw error;
  }
}

await follow({
  take: async () => {
    const isFree = await unlessLost(async () => {
      lock = await redlock.lock(name, Number(lease));
    });
    return isFree ? lock.value : null;
  },
  extend: () =>
    unlessLost(async () => {
      lock = await lock.extend(Number(lease));
    }),
  release: () => unlessLost(() => lock.unlock()),
});
