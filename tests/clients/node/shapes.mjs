// ioredis' and node-redis' clients of clusters and of masters that sentinels name. `shapes.mjs (ioredis | node-redis)
// (cluster | sentinel) PORT...` sets and gets what each line of its input says, and answers with a line.
import Redis from "ioredis";
import { createInterface } from "node:readline";
import { createCluster, createSentinel } from "redis";

const [library, shape, ...words] = process.argv.slice(2);
const nodes = words.map((port) => ({ host: "127.0.0.1", port: Number(port) }));

async function connected() {
  if (library === "ioredis") {
    return shape === "cluster" ? new Redis.Cluster(nodes) : new Redis({ sentinels: nodes, name: "m" });
  }
  const client =
    shape === "cluster"
      ? createCluster({ rootNodes: nodes.map(({ port }) => ({ url: `redis://127.0.0.1:${port}` })) })
      : createSentinel({ name: "m", sentinelRootNodes: nodes });
  client.on("error", () => {});
  return client.connect();
}

const client = await connected();
if (library === "ioredis") client.on("error", () => {});
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, key, value] = line.split(" ");
  try {
    console.log((await (verb === "set" ? client.set(key, value) : client.get(key))) ?? "nothing");
  } catch (error) {
    console.log("failed", String(error).replace(/\s+/g, " "));
  }
}
process.exit(0);
