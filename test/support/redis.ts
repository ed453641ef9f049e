import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { find } from "../../scripts/system-programs.mjs";
import { quietPort } from "./quiet-port.ts";

/** A Redis of one test, on this machine only. What it acknowledged is on disk. */
export interface TestRedis extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly folder: string;
  /** Ends it. What it knows stays in its folder. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Starts it again on the same port, with what is in its folder. */
  start(): Promise<void>;
  /** Says nothing any more, until it is resumed. Connections stay. */
  pause(): void;
  resume(): void;
}

export const redisProgram: string | undefined = find("redis");

/** Starts a Redis, with more options on its command line. */
export async function startRedis(...options: readonly string[]): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), "plugbay-redis-"));
  const port = await quietPort();
  const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, ...durable, ...options];
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    child = await launch(args);
  };

  const stop = async (signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, "exit");
    ending.kill(signal);
    await ended;
  };

  await start().catch(async (error: unknown) => {
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  return {
    port,
    folder,
    url: `redis://127.0.0.1:${port}`,
    start,
    stop,
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
    async [Symbol.asyncDispose]() {
      await stop("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when it takes connections; rejects with what it said when it does not come so far. */
async function launch(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(redisProgram ?? "redis-server", args, { stdio: ["ignore", "pipe", "pipe"] });
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  child.once("exit", () => process.removeListener("exit", kill));
  let said = "";
  await new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      said += chunk;
      if (said.includes("Ready to accept connections")) resolve();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`redis did not start: ${said}`)));
  });
  return child;
}
