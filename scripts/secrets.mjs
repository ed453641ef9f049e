import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./run.mjs";

/** Where tests note the secrets they learn: files of lines, each an object with `kind` and `text`. */
export const folder = join(root, ".tmp", "secrets");

/** What tests have noted, each secret once. */
export function recordedIn(place) {
  if (!existsSync(place)) return [];
  const lines = readdirSync(place).flatMap((name) => readFileSync(join(place, name), "utf8").split("\n"));
  const unique = new Set(lines.filter((line) => line !== ""));
  return [...unique].map((line) => JSON.parse(line));
}

/**
 * Which kinds of secrets are in which logs, without saying any of them. Logs are
 * texts by name.
 */
export function findLeaks(secrets, logs) {
  const found = Object.entries(logs).flatMap(([name, log]) =>
    secrets.filter(({ text }) => log.includes(text)).map(({ kind }) => `${kind} in ${name}`),
  );
  return [...new Set(found)];
}
