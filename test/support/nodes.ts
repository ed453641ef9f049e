import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createLog, type Log } from "../e2e/support/events.ts";
import { type RoundRobin, startRoundRobin } from "./round-robin.ts";

/** A process that serves sessions which others serve, too. */
export interface ServerNode {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  /** What it tells its parent. */
  readonly said: Log<NodeNews>;
  /** Announces so many updates, of 50 resources in turn. Resolves when it has. */
  announce(count: number): Promise<void>;
  /** Lets calls of `hold` and `job` end. */
  release(): void;
  /** Ends it without a word. */
  kill(): Promise<void>;
}

export interface NodeNews {
  readonly held?: boolean;
  readonly cancelled?: boolean;
  readonly announced?: number;
  /** A step of a task, which must be done once. */
  readonly step?: string;
}

/** Several processes, and what stands in front of them. */
export interface ServerNodes extends AsyncDisposable {
  readonly nodes: readonly [ServerNode, ServerNode, ServerNode];
  readonly front: RoundRobin;
}

export async function startNodes(redisUrl: string, options?: NodeOptions): Promise<ServerNodes> {
  const names = ["one", "two", "three"];
  const nodes = (await Promise.all(names.map((name) => startNode(redisUrl, name, options)))) as [
    ServerNode,
    ServerNode,
    ServerNode,
  ];
  const front = await startRoundRobin(nodes.map(({ port }) => port));
  return {
    nodes,
    front,
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]();
      await Promise.all(nodes.map((node) => node.kill()));
    },
  };
}

export interface NodeOptions {
  /** How long it waits for Redis. Longer than any test takes when left out. */
  readonly waitMs?: number;
}

/** Starts one more. */
export async function startNode(
  redisUrl: string,
  name: string,
  { waitMs = 600_000 }: NodeOptions = {},
): Promise<ServerNode> {
  const path = fileURLToPath(new URL("../fixtures/children/node-server.ts", import.meta.url));
  const child: ChildProcess = fork(path, [redisUrl, name, `${waitMs}`], {
    execArgv: ["--import", import.meta.resolve("tsx")],
  });
  const end = (): void => void child.kill("SIGKILL");
  process.once("exit", end);
  const gone = once(child, "exit").then(() => process.removeListener("exit", end));
  const [{ port }] = (await Promise.race([
    once(child, "message"),
    gone.then(() => Promise.reject(new Error(`node ${name} did not start`))),
  ])) as [{ port: number }];
  const said = createLog<NodeNews>();
  child.on("message", (news: NodeNews) => said.add(news));
  return {
    name,
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    said,
    async announce(count) {
      const before = said.items.length;
      child.send({ announce: count });
      await said.find((news) => news.announced !== undefined && said.items.indexOf(news) >= before);
    },
    release: () => void child.send({ release: true }),
    async kill() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}
