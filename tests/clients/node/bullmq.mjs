// BullMQ's main ways: jobs with priorities, delays, retries, repetition, a flow of parents and children, events.
// `bullmq.mjs PORT`.
import { FlowProducer, Queue, QueueEvents, Worker } from "bullmq";
import { show } from "./script.mjs";

const connection = { host: "127.0.0.1", port: Number(process.argv[2]) };
const queue = new Queue("jobs", { connection });
const events = new QueueEvents("jobs", { connection });
await events.waitUntilReady();

const failures = new Map();
const done = [];
const worker = new Worker("jobs", async (job) => {
  const failed = failures.get(job.name) ?? 0;
  if (job.name === "unsteady" && failed < 2) {
    failures.set(job.name, failed + 1);
    throw new Error(`attempt ${failed + 1}`);
  }
  if (job.name === "hopeless") throw new Error("never");
  await job.updateProgress(50);
  await job.log(`did ${job.name}`);
  done.push(job.name);
  return { did: job.name, data: job.data };
}, { connection, autorun: false });

const plain = await queue.add("plain", { number: 1 });
await queue.addBulk([
  { name: "urgent", data: {}, opts: { priority: 1 } },
  { name: "patient", data: {}, opts: { priority: 9 } },
]);
const delayed = await queue.add("delayed", {}, { delay: 200 });
const unsteady = await queue.add("unsteady", {}, { attempts: 3, backoff: { type: "fixed", delay: 50 } });
const hopeless = await queue.add("hopeless", {}, { attempts: 1 });
await queue.add("same", {}, { jobId: "one" });
await queue.add("same", {}, { jobId: "one" });
console.log("waiting", show(await queue.getJobCounts("waiting", "prioritized", "delayed")));

worker.run();
console.log("plain", show(await plain.waitUntilFinished(events, 20_000)));
console.log("delayed", show(await delayed.waitUntilFinished(events, 20_000)));
console.log("unsteady", show(await unsteady.waitUntilFinished(events, 20_000)));
console.log("hopeless", await hopeless.waitUntilFinished(events, 20_000).catch((error) => error.message));
console.log("logs", show(await queue.getJobLogs(plain.id)));

const flow = new FlowProducer({ connection });
const tree = await flow.add({
  name: "parent",
  queueName: "jobs",
  children: [{ name: "child 1", queueName: "jobs" }, { name: "child 2", queueName: "jobs" }],
});
console.log("parent", show(await tree.job.waitUntilFinished(events, 20_000)));
console.log("children", show(Object.values(await tree.job.getChildrenValues()).map((value) => value.did).sort()));

await queue.upsertJobScheduler("tick", { every: 100, limit: 2 }, { name: "repeated" });
while (done.filter((name) => name === "repeated").length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
console.log("scheduler", show(done.filter((name) => name === "repeated").length));

await queue.pause();
await queue.add("paused", {});
console.log("paused", await queue.isPaused());
await queue.resume();
while (!done.includes("paused")) await new Promise((resolve) => setTimeout(resolve, 20));
console.log("done", show([...new Set(done)].sort()));
const { failed, completed } = await queue.getJobCounts("failed", "completed");
console.log("counts", failed, completed);
await (await queue.getFailed())[0].retry();
await worker.close();
await queue.obliterate({ force: true });
console.log("left", show(await queue.getJobCounts()));
await Promise.all([events.close(), flow.close(), queue.close()]);
