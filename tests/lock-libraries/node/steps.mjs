// Reads steps, a line each, and says a line each how they went.
import { createInterface } from "node:readline";

export async function follow(library) {
  for await (const step of createInterface({ input: process.stdin })) {
    if (step === "take") {
      const owner = await library.take();
      console.log(owner === null ? "refused" : `held ${owner}`);
    } else {
      console.log((await library[step]()) ? "done" : "lost");
    }
  }
  process.exit(0);
}
