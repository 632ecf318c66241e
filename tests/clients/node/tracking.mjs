// node-redis' cache on the client's side, and ioredis with invalidations redirected to its subscriber.
// `tracking.mjs PORT`.
import Redis from "ioredis";
import { BasicClientSideCache, createClient } from "redis";

const port = Number(process.argv[2]);
const other = await createClient({ url: `redis://127.0.0.1:${port}` }).connect();
const cache = new BasicClientSideCache({ ttl: 0, maxEntries: 0, evictPolicy: "LRU" });
let invalidated = [];
let wanted = 0;
let wake = () => {};
cache.on("invalidate", (key) => { invalidated.push(key === null ? null : key.toString()); if (invalidated.length >= wanted) wake(); });
const told = (count) => new Promise((resolve) => {
  wanted = count;
  wake = () => { const all = invalidated; invalidated = []; wanted = Infinity; resolve(all); };
  if (invalidated.length >= count) wake();
});
const cached = await createClient({ url: `redis://127.0.0.1:${port}`, RESP: 3, clientSideCache: cache }).connect();
const show = async (when) => {
  const values = [await cached.get("k"), await cached.hGetAll("h"), await cached.get("k")];
  console.log(when, JSON.stringify(values), cache.stats().hitCount, cache.stats().missCount);
};

await show("missing");
await show("from the cache");
await other.set("k", "1");
console.log("told", await told(1));
await show("set");
await other.hSet("h", "f", "v");
console.log("told", await told(1));
await show("field");
await cached.set("k", "own");
console.log("told", await told(1));
await show("own");
await other.multi().set("k", "2").del("h").exec();
console.log("told", (await told(2)).sort());
await show("transaction");
await other.flushAll();
console.log("told", await told(1));
await show("flushed");
await cached.close();

const reader = new Redis({ port, protocol: 2 });
const listener = new Redis({ port, protocol: 2 });
const id = await listener.client("ID");
const messages = [];
let arrived = () => {};
listener.on("message", (channel, keys) => { messages.push([channel, keys]); arrived(); });
await listener.subscribe("__redis__:invalidate");
console.log("redirect", await reader.client("TRACKING", "ON", "REDIRECT", id));
await reader.mget("a", "b");
const arrival = new Promise((resolve) => { arrived = () => messages.length === 2 && resolve(); });
await other.mSet({ a: "1", b: "2", c: "3" });
await arrival;
console.log("messages", JSON.stringify(messages));
for (const client of [reader, listener]) client.disconnect();
await other.close();
