import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach } from "vitest";
import { textOf } from "../../e2e/support/run.ts";
import { type Home, program } from "./cli.ts";

/** `plugbay gateway` as a process. */
export interface RunningGateway {
  readonly child: ChildProcess;
  readonly url: string;
  readonly statusUrl: string | undefined;
  readonly said: () => string;
  /** Ends it as Ctrl-C does, and resolves to the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

/** Starts a gateway at a free port. Killed when the test is over. */
export async function startGateway(home: Home, ...args: readonly string[]): Promise<RunningGateway> {
  const child = spawn(process.execPath, [program, "gateway", "--json", "--port", "0", ...args], {
    cwd: home.folder,
    env: home.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  const [said, errors] = [textOf(child.stdout), textOf(child.stderr)];
  const ended = once(child, "exit");
  while (!said().includes("\n}\n")) {
    const isOver = await Promise.race([once(child.stdout, "data").then(() => false), ended.then(() => true)]);
    if (isOver) throw new Error(`the gateway has ended: ${said()}${errors()}`);
  }
  const { url, statusUrl, error } = JSON.parse(said());
  if (error !== undefined) throw new Error(`the gateway did not start: ${error.message}`);
  const stop = async (signal: NodeJS.Signals = "SIGINT"): Promise<number | null> => {
    child.kill(signal);
    const [code] = await ended;
    return code;
  };
  return { child, url, statusUrl, said: errors, stop };
}
