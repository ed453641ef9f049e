import cluster, { type Worker } from "node:cluster";
import { McpError } from "../../protocol/errors.ts";
import { toBase64Url } from "../../std/base64.ts";
import type { CommandContext } from "../command.ts";

/** How long to wait before a worker is started again, at first and at most: twice as long each time until one serves. */
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 30_000;

/**
 * Runs this command line in several processes that share its port, until it is interrupted. A worker that ends is started
 * again. Where the environment has no state keys, all workers get the same new one. Rejects when the first one ends before
 * it has served anything.
 */
export async function runWorkers(count: number, context: CommandContext): Promise<void> {
  const workers = new Set<Worker>();
  let isOver = false;
  let hasServed = false;
  let delayMs = FIRST_DELAY_MS;
  const waiting = new Set<NodeJS.Timeout>();
  const keys = stateKeysFor(context.env);
  await new Promise<void>((resolve, reject) => {
    const end = (): void => {
      isOver = true;
      for (const timer of waiting) clearTimeout(timer);
      for (const worker of workers) worker.process.kill("SIGTERM");
      if (workers.size === 0) resolve();
    };
    const ended = (worker: Worker, how: string): void => {
      workers.delete(worker);
      if (isOver) return void (workers.size === 0 && resolve());
      if (!hasServed) {
        reject(
          new McpError("connection-closed", `a worker ended before it could serve (${how}): see its message above`),
        );
        end();
        return;
      }
      context.say(`worker ${worker.process.pid} has ended (${how}): starting another`);
      const timer = setTimeout(() => {
        waiting.delete(timer);
        start(false);
      }, delayMs);
      waiting.add(timer);
      delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS);
    };
    const start = (isFirst: boolean): void => {
      const worker = cluster.fork({ ...keys, [firstWorker]: isFirst ? "1" : "" });
      workers.add(worker);
      worker.once("listening", () => {
        hasServed = true;
        delayMs = FIRST_DELAY_MS;
      });
      worker.once("exit", (code, signal) => ended(worker, signal ?? `exit code ${code}`));
    };
    if (context.signal.aborted) return resolve();
    context.signal.addEventListener("abort", end, { once: true });
    for (let n = 0; n < count; n++) start(n === 0);
  });
}

/** A client may bring back to one worker what it got from another: none could open what each seals with a key of its own. */
function stateKeysFor({ PLUGBAY_STATE_KEYS: given = "" }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return given === "" ? { PLUGBAY_STATE_KEYS: toBase64Url(crypto.getRandomValues(new Uint8Array(32))) } : {};
}

const firstWorker = "PLUGBAY_FIRST_WORKER";

/** True in a process that another one has started as a worker. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** True in the process that tells people where the gateway is. */
export function isTelling(env: NodeJS.ProcessEnv): boolean {
  return !cluster.isWorker || env[firstWorker] === "1";
}
