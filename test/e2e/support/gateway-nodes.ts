import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll } from "vitest";
import { type Home, program } from "../../cli/support/cli.ts";
import { textOf } from "./run.ts";

/** `plugbay gateway` in a process of its own. */
export interface GatewayNode {
  readonly child: ChildProcess;
  /** What it said of itself when it was up. */
  readonly said: { readonly url: string; readonly statusUrl: string };
  readonly port: number;
  kill(): Promise<unknown>;
}

export interface GatewayNodeOptions {
  readonly home: Home;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node. */
  readonly execArgv?: readonly string[];
}

const children: ChildProcess[] = [];

afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** Starts a gateway over the servers of `mcp.json`, on a port that the system chooses. Killed when the tests are over. */
export async function startGatewayNode(options: GatewayNodeOptions): Promise<GatewayNode> {
  const { home, args, env = {}, execArgv = [] } = options;
  const command = [...execArgv, program, "gateway", "mcp.json", "--json", "--log", "off", "--port", "0", ...args];
  const child = spawn(process.execPath, command, {
    cwd: home.folder,
    env: { ...home.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const exited = once(child, "exit");
  const text = textOf(child.stdout);
  const gone = exited.then(([code, signal]) => {
    throw new Error(`the gateway ended before it was up, with ${code ?? signal}: ${text()}`);
  });
  while (!text().includes("\n}\n")) await Promise.race([once(child.stdout, "data"), gone]);
  gone.catch(() => {});
  const said = JSON.parse(text());
  const kill = (): Promise<unknown> => {
    child.kill("SIGKILL");
    return exited;
  };
  return { child, said, port: Number(new URL(said.url).port), kill };
}
