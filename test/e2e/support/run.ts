import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll } from "vitest";
import { type Program, root } from "./places.ts";

/** How a program ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that runs. Killed when the tests of the file are over, should it still be there. */
export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly pid: number;
  /** Resolves when it is gone and everything it wrote has been read. */
  readonly ended: Promise<Ended>;
}

const alive = new Set<Running>();

afterAll(async () => {
  for (const { child } of alive) {
    child.kill("SIGKILL");
    // A stream that nobody reads would never close.
    for (const stream of [child.stdout, child.stderr]) stream.destroy();
  }
  await Promise.all([...alive].map(({ ended }) => ended));
});

/** Starts a program in the root of the repository. */
export async function start({ command, args }: Program): Promise<Running> {
  const child = spawn(command, args, { cwd: root, stdio: "pipe" });
  const closed = once(child, "close");
  await once(child, "spawn");
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} has no process id`);
  // Writing to a program that is gone is part of some tests.
  child.stdin.on("error", () => {});
  const running: Running = { child, pid, ended: closed.then(([code, signal]) => ({ code, signal })) };
  alive.add(running);
  void running.ended.then(() => alive.delete(running));
  return running;
}

/** Runs a program to its end, with this as all of its input. */
export async function run(program: Program, input = ""): Promise<Ended & { stdout: string; stderr: string }> {
  const { child, ended } = await start(program);
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
  child.stdin.end(input);
  return { ...(await ended), stdout: stdout(), stderr: stderr() };
}

/** What a stream has said so far. */
export function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}
