import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/connect/index.ts";
import { hasSqlite, node22 } from "../store/node22.ts";
import { redisProgram, startRedis, type TestRedis } from "../support/redis.ts";
import { start } from "./support/run.ts";

// A tool with three steps and two questions. Its process is killed at each of its points in turn, and the client tries
// again with another process: every step is done once, no question is put again that was answered, and the result is
// right.

const first = "Charge the card?";
const second = "Send a receipt?";

/** Where the process is killed, which steps it has done by then, and what the user has to be asked after that. */
const points: readonly Point[] = [
  { name: "before all", done: 0, asked: [first, second] },
  { name: "after the first step", done: 1, asked: [first, second] },
  { name: "when the first question is put", question: first, done: 1, asked: [first, second] },
  { name: "after the first answer", done: 1, asked: [second] },
  { name: "after the second step", done: 2, asked: [second] },
  { name: "when the second question is put", question: second, done: 2, asked: [second] },
  { name: "after the second answer", done: 2, asked: [] },
  { name: "after the last step", done: 3, asked: [] },
];

const steps = ["hold", "charge", "mail"] as const;

interface Point {
  readonly name: string;
  /** The client kills the process when it hears this. Else the process tells when it is there. */
  readonly question?: string;
  readonly done: number;
  readonly asked: readonly string[];
}

interface Place {
  readonly node: string;
  readonly url: string;
}

const folder = mkdtempSync(join(tmpdir(), "plugbay-killed-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const newer = hasSqlite ? process.execPath : node22();

describe.skipIf(newer === undefined)("a server that is killed, with a store in SQLite", () => {
  survives(() => ({ node: newer ?? "", url: `sqlite:${join(folder, "store.db")}` }));
});

describe.skipIf(redisProgram === undefined)("a server that is killed, with a store in Redis", () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis[Symbol.asyncDispose]());
  survives(() => ({ node: process.execPath, url: redis.url }));
});

function survives(place: () => Place): void {
  let other: Serving;
  let effects = "";
  beforeAll(async () => {
    effects = join(mkdtempSync(join(folder, "effects-")), "log");
    writeFileSync(effects, "");
    other = await serve(place(), effects);
  });

  const doneFor = (to: string): readonly string[] =>
    readFileSync(effects, "utf8")
      .split("\n")
      .filter((line) => line.startsWith(`${to}: `))
      .map((line) => line.slice(to.length + 2));

  it.each(points)("$name: another one goes on, and repeats nothing", async ({ name, question, done, asked }) => {
    const killed = await serve(place(), effects, name);
    const cutOff = travel(killed.url, name, (message) => (message === question ? killed.kill() : undefined));
    const failed = expect(cutOff).rejects.toMatchObject({ name: "McpError" });
    if (question === undefined) {
      expect(await killed.read()).toBe(name);
      await killed.kill();
    }
    await failed;
    expect(doneFor(name)).toEqual(steps.slice(0, done));

    const heard: string[] = [];
    const result = await travel(other.url, name, (message) => void heard.push(message));
    const by = steps.map((step, index) => [step, `${step} ${(index < done ? killed : other).pid}`]);
    expect(result).toEqual({ to: name, charged: true, receipt: true, ...Object.fromEntries(by) });
    expect(heard).toEqual(asked);
    expect(doneFor(name)).toEqual(steps);
  });

  it("what was done already has the result it had, and nobody is asked", async () => {
    const result = await travel(other.url, "once", () => {});
    const heard: string[] = [];
    expect(await travel(other.url, "once", (message) => void heard.push(message))).toEqual(result);
    expect(heard).toEqual([]);
    expect(doneFor("once")).toEqual(steps);
  });
}

type Hear = (message: string) => void | Promise<void>;

/** Calls the tool once, with a user who agrees to everything. */
async function travel(url: string, to: string, hear: Hear): Promise<Record<string, unknown>> {
  const onElicit = async ({ message }: { readonly message: string }) => {
    await hear(message);
    return { ok: true };
  };
  await using client = await connect(url, { revision: "2026-07-28", onElicit });
  const { content } = await client.callTool("trip", { to }, { key: `the trip ${to}` });
  const [block] = content;
  return JSON.parse(block?.type === "text" ? block.text : "");
}

interface Serving {
  readonly url: string;
  readonly pid: number;
  /** The next thing it says. */
  read(): Promise<string>;
  /** Ends it at once, without a chance to finish anything. */
  kill(): Promise<void>;
}

async function serve({ node, url }: Place, effects: string, stop = ""): Promise<Serving> {
  const program = fileURLToPath(new URL("../fixtures/children/killed-server.ts", import.meta.url));
  const args = ["--import", import.meta.resolve("tsx"), program, url, effects, stop];
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
  return { url: `http://127.0.0.1:${await read()}/mcp`, pid, read, kill };
}
