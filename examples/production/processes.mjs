import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { access, chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A folder of this run. nginx looks into it as another user. */
export async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), "plugbay-production-"));
  await chmod(folder, 0o711);
  return folder;
}

/** Whether there is such a file. */
export function isThere(path, mode = constants.F_OK) {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/** The first program of these names, in PATH or where Debian has programs of administrators. */
export async function findProgram(...names) {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    if (await isThere(path, constants.X_OK)) return path;
  }
  return undefined;
}

/** Starts a file of this folder as a process of its own. `ready` resolves with what it says first. */
export function startProcess(name, file, env) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, { env: { ...process.env, ...env, NAME: name }, silent: true });
  const { failed, ...running } = follow(name, child);
  const ready = Promise.race([once(child, "message").then(([message]) => message), failed]);
  ready.catch(() => {}); // whoever waits hears of it; nobody else has to
  return { ...running, ready };
}

/** Starts a program, and resolves when `isReady`. What it says is shown where it does not start. */
export async function startProgram(name, path, args, isReady) {
  const { failed, ...running } = follow(name, spawn(path, args, { stdio: ["ignore", "pipe", "pipe"] }));
  const waiting = new AbortController();
  const ready = async () => {
    while (!(await isReady())) await wait(20, undefined, { signal: waiting.signal });
  };
  await Promise.race([ready(), failed]).finally(() => waiting.abort());
  return running;
}

/** What others say is shown only where they do not start. */
const isOurs = (name) => name !== "redis" && name !== "identity";

/** Shows what a process says, a line at a time, and knows when it has ended. */
function follow(name, child) {
  const last = [];
  const ended = once(child, "close");
  for (const [stream, output] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    createInterface({ input: stream }).on("line", (line) => {
      last.push(line);
      last.splice(0, last.length - 4);
      if (isOurs(name)) output.write(`${name} | ${line}\n`);
    });
  }
  void ended.then(([code, signal]) => console.log(`${name} has ended: ${signal ?? code}`));
  const failed = ended.then(([code, signal]) => {
    throw new Error(`${name} did not start, it ended with ${signal ?? code}: ${last.join("\n")}`);
  });
  failed.catch(() => {});
  return {
    name,
    pid: child.pid,
    failed,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await ended;
    },
  };
}
