// The script's lines, and replies as text.
import { readFileSync } from "node:fs";

/** The commands of the script: the number of each line, and its words. */
export function commands() {
  const text = readFileSync(new URL("../script.txt", import.meta.url), "utf8");
  const words = (line) =>
    [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted?.replaceAll("\\n", "\n") ?? word);
  return text.split("\n")
    .map((line, index) => [index + 1, line])
    .filter(([, line]) => line && !line.startsWith("#"))
    .map(([number, line]) => [number, words(line)]);
}

/** A reply as text; what has no order gets one. */
export function show(value) {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Set) return `set(${[...value].map(show).sort().join(", ")})`;
  if (value instanceof Map) value = Object.fromEntries(value);
  if (Array.isArray(value)) return `[${value.map(show).join(", ")}]`;
  if (Buffer.isBuffer(value)) return `bytes ${value.toString("latin1")}`;
  if (value && typeof value === "object") {
    return `{${Object.keys(value).sort().map((key) => `${key}: ${show(value[key])}`).join(", ")}}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** What `ask` resolves to, or why it does not, as text. */
export async function attempt(ask) {
  try {
    return show(await ask());
  } catch (error) {
    return show(error);
  }
}
