// node-redis: connects with its defaults, sends the script, and uses its own interfaces.
// `node_redis.mjs PORT PROTOCOL`.
import { createClient, defineScript } from "redis";
import { attempt, commands, show } from "./script.mjs";

const [port, protocol] = process.argv.slice(2).map(Number);
const echoed = defineScript({
  SCRIPT: "return {KEYS[1], ARGV[1]}",
  NUMBER_OF_KEYS: 1,
  parseCommand: (parser, key, argument) => { parser.pushKey(key); parser.push(argument); },
  transformReply: undefined,
});
const options = { url: `redis://127.0.0.1:${port}`, scripts: { echoed } };
if (protocol) options.RESP = protocol;
const client = createClient(options);
await client.connect();
for (const [number, words] of commands()) {
  console.log(number, await attempt(() => client.sendCommand(words)));
}

console.log("transaction", await attempt(() => client.multi().set("a", 1).incr("a").hSet("h", "f", "v").hGetAll("h").exec()));
console.log("pipeline", await attempt(() => Promise.all([client.get("a"), client.hGetAll("h"), client.zRange("z", 0, -1)])));
console.log("script", await attempt(() => client.echoed("k", "a")), await attempt(() => client.echoed("k", "b")));
console.log("stream", await attempt(() => client.xAdd("x", "1-1", { f: "v" })), await attempt(() => client.xRange("x", "-", "+")));
console.log("sorted set", await attempt(() => client.zAdd("z", { score: 1.5, value: "m" })), await attempt(() => client.zRangeWithScores("z", 0, -1)));

const listener = client.duplicate();
await listener.connect();
const messages = [];
const both = new Promise((resolve) => {
  const keep = (...message) => messages.push(message) === 2 && resolve();
  listener.subscribe("channel", keep).then(() => listener.pSubscribe("chan*", keep)).then(async () => {
    await client.publish("channel", "text");
  });
});
await both;
console.log("messages", show([...messages]));
await listener.close();

const keys = [];
for await (const some of client.scanIterator()) keys.push(...some);
console.log("scan", show(keys.sort()));
console.log("flush", await client.flushAll());
await client.close();
