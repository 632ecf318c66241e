// ioredis: connects with its defaults, sends the script, and uses its own interfaces. `ioredis.mjs PORT PROTOCOL`.
import Redis from "ioredis";
import { attempt, commands, show } from "./script.mjs";

const [port, protocol] = process.argv.slice(2).map(Number);
const options = protocol ? { port, protocol } : { port };
const client = new Redis(options);
for (const [number, words] of commands()) {
  console.log(number, await attempt(() => client.call(...words)));
}

console.log("transaction", await attempt(() => client.multi().set("a", 1).incr("a").hset("h", { f: "v" }).exec()));
console.log("pipeline", await attempt(() => client.pipeline().get("a").hgetall("h").zrange("z", 0, -1).exec()));
client.defineCommand("echoed", { numberOfKeys: 1, lua: "return {KEYS[1], ARGV[1]}" });
console.log("script", await attempt(() => client.echoed("k", "a")), await attempt(() => client.echoed("k", "b")));
console.log("stream", await attempt(() => client.xadd("x", "1-1", "f", "v")), await attempt(() => client.xread("STREAMS", "x", 0)));

const listener = new Redis(options);
const messages = new Promise((resolve) => {
  const got = [];
  const keep = (...message) => got.push(message) === 2 && resolve(got);
  listener.on("message", keep);
  listener.on("pmessage", keep);
});
await listener.subscribe("channel");
await listener.psubscribe("chan*");
console.log("listeners", await client.publish("channel", "text"));
console.log("messages", show((await messages).sort()));
listener.disconnect();

const monitor = await client.monitor();
const calls = new Promise((resolve) => {
  const got = [];
  monitor.on("monitor", (_time, args, _source, database) => got.push([database, ...args]) === 2 && resolve(got));
});
await client.set("k", 'a "b" c');
await client.get("k");
console.log("monitor", show(await calls));
monitor.disconnect();

const keys = [];
for await (const some of client.scanStream()) keys.push(...some);
console.log("scan", show(keys.sort()));
console.log("flush", await client.flushall());
client.disconnect();
