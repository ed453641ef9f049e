import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe } from "vitest";
import { nodeWithSqlite } from "../../store/node22.ts";
import { redisProgram, startRedis, type TestRedis } from "../../support/redis.ts";
import { start } from "./run.ts";

/** Steps of the tools, in their order. */
export const steps = ["hold", "charge", "mail"] as const;

export const [first, second] = ["Charge the card?", "Send a receipt?"] as const;

/** Processes that serve the same tools on one store. What their steps do is written to one file. */
export interface MortalServers {
  /** Starts one, which stops at a point of its tools and says so. */
  serve(stop?: string): Promise<Serving>;
  /** The steps that were done for somebody, by all of them. */
  doneFor(to: string): readonly string[];
  /** Others, on a store of their own: they neither see nor take up what these do. */
  apart(): MortalServers;
}

export interface Serving {
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** The next thing it says. */
  read(): Promise<string>;
  /** Ends it at once, without a chance to finish anything. */
  kill(): Promise<void>;
}

/** Defines the same tests for a store in SQLite and one in Redis, where there is one. */
export function onEveryStore(title: string, define: (servers: () => MortalServers) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-killed-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const newer = nodeWithSqlite();

  describe.skipIf(newer === undefined)(`${title}, with a store in SQLite`, () => {
    const store = (n: number): string => `sqlite:${join(folder, `store-${n}.db`)}`;
    const servers = mortalServers({ node: newer ?? "", store, log: join(folder, "sqlite") });
    define(() => servers);
  });

  describe.skipIf(redisProgram === undefined)(`${title}, with a store in Redis`, () => {
    let redis: TestRedis;
    let servers: MortalServers;
    beforeAll(async () => {
      redis = await startRedis();
      servers = mortalServers({
        node: process.execPath,
        store: (n) => `${redis.url}/${n}`,
        log: join(folder, "redis"),
      });
    });
    afterAll(() => redis?.[Symbol.asyncDispose]());
    define(() => servers);
  });
}

interface Place {
  /** What runs the servers. */
  readonly node: string;
  /** The URL of the store with this number. A Redis has 16. */
  store(n: number): string;
  /** Where to write what steps do. */
  readonly log: string;
}

function mortalServers(place: Place): MortalServers {
  let count = 0;
  const make = (n: number): MortalServers =>
    serversOn(place.node, place.store(n), `${place.log}-${n}.log`, () => make(++count));
  return make(0);
}

function serversOn(node: string, store: string, effects: string, apart: () => MortalServers): MortalServers {
  writeFileSync(effects, "");
  return {
    apart,
    async serve(stop = "") {
      const program = fileURLToPath(new URL("../../fixtures/children/killed-server.ts", import.meta.url));
      const args = ["--import", import.meta.resolve("tsx"), program, store, effects, stop];
      const { child, pid, ended } = await start({ command: node, args });
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      let said = "";
      child.stderr.on("data", (chunk: Buffer) => {
        said += chunk;
      });
      const read = async (): Promise<string> => {
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`the process has ended: ${said}`);
        return value;
      };
      const kill = async (): Promise<void> => {
        child.kill("SIGKILL");
        child.stdout.resume();
        await ended;
      };
      const port = Number(await read());
      return { port, url: `http://127.0.0.1:${port}/mcp`, pid, read, kill };
    },
    doneFor: (to) =>
      readFileSync(effects, "utf8")
        .split("\n")
        .filter((line) => line.startsWith(`${to}: `))
        .map((line) => line.slice(to.length + 2)),
  };
}
