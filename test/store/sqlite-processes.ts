import { createInterface } from "node:readline";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { sqliteStore } from "../../src/store/node/sqlite-store.ts";
import type { Store } from "../../src/store/store.ts";
import type { Program } from "../e2e/support/places.ts";
import { run, start } from "../e2e/support/run.ts";
import { newPath } from "./sqlite-place.ts";
import { eventually, given, LONG, next } from "./support.ts";

/** Several processes on one file, and their sudden end. */
export function processTests(): void {
  it("keeps what was acknowledged when the process is killed", async () => {
    const path = newPath();
    const child = await startChild(path);
    child.say("write");
    let acknowledged = 0;
    while (acknowledged < 200) acknowledged = Number(await child.read());
    await child.kill();
    const store = await open(path);
    const { events, last } = await store.streams.read("written", 0);
    expect(last).toBeGreaterThanOrEqual(200);
    expect(events.map(({ text }) => text)).toEqual(Array.from({ length: events.length }, (_, i) => `text ${i + 1}`));
    for (let i = 1; i <= acknowledged; i++) expect((await store.values.get(`written ${i}`))?.text).toBe(`text ${i}`);
    expect(await store.leases.held("written")).toBe(true);
  });

  it("gives a lease to one process at a time", async () => {
    const path = newPath();
    const [store, child] = [await open(path), await startChild(path)];
    const lease = given(await store.leases.acquire("a", LONG));
    expect(await child.ask("acquire a")).toBe(null);
    await lease.release();
    expect(Number(await child.ask("acquire a"))).toBeGreaterThan(lease.token);
    expect(await store.leases.acquire("a", LONG)).toBeUndefined();
  });

  it("gives the lease of a process that was killed to another one, when its time is over", async () => {
    const path = newPath();
    const [store, child] = [await open(path), await startChild(path)];
    const token = Number(await child.ask("acquireShortly a"));
    await child.kill();
    const lease = await eventually(async () => given(await store.leases.acquire("a", LONG)));
    expect(lease.token).toBeGreaterThan(token);
    expect(await store.values.put("a", "1", { fence: token })).toBeUndefined();
  });

  it("lets processes write at the same time, and one of them win", async () => {
    const path = newPath();
    const children = await Promise.all([startChild(path), startChild(path)]);
    const sums = await Promise.all(children.map((child) => child.ask("add 300")));
    expect((sums.flat() as number[]).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 600 }, (_, i) => i + 1));
    const won = await Promise.all(children.map((child) => child.ask("race 100")));
    expect((won.flat() as number[]).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  it("loses no write that a process made upon what it had read", async () => {
    const path = newPath();
    const children = await Promise.all([startChild(path), startChild(path)]);
    expect(await Promise.all(children.map((child) => child.ask("countUp 500")))).toEqual([500, 500]);
    expect((await (await open(path)).values.get("count"))?.text).toBe("1000");
  });

  it("shows all texts of an append to other processes, or none", async () => {
    const path = newPath();
    const [store, child] = [await open(path), await startChild(path)];
    let writing = true;
    const written = child.ask("appendFifties 100").finally(() => {
      writing = false;
    });
    const rests = new Set<number>();
    while (writing) {
      const { events, last } = await store.streams.read("fifties", 0, 10_000);
      rests.add(events.length % 50).add(last % 50);
      await turn();
    }
    expect(await written).toBe("appended");
    expect([...rests]).toEqual([0]);
  });

  it("delivers messages from process to process, once and in order", async () => {
    const path = newPath();
    const [store, child, other] = [await open(path), await startChild(path), await startChild(path)];
    const subscription = await store.topics.subscribe("from child");
    for (const listener of [child, other]) expect(await listener.ask("listen a")).toBe("listening");
    const texts = Array.from({ length: 300 }, (_, i) => `text ${i}`);
    for (const text of texts) await store.topics.publish("a", text);
    for (const listener of [child, other]) {
      for (const text of texts) expect(await listener.read()).toEqual({ kind: "message", text });
    }
    for (const text of ["1", "2", "3"]) await child.ask(`publish ${text}`);
    expect(await next(subscription, 3)).toEqual(["1", "2", "3"]);
  });

  it("keeps no process alive", async () => {
    const { code, stderr } = await run(program(newPath(), "idle"));
    expect({ code, stderr: stderr.replace(/^.*(ExperimentalWarning|--trace-warnings).*\n/gm, "") }).toEqual({
      code: 0,
      stderr: "",
    });
  });
}

interface Child {
  say(line: string): void;
  /** The next answer. */
  read(): Promise<unknown>;
  ask(line: string): Promise<unknown>;
  /** Ends it at once, without a chance to finish anything. */
  kill(): Promise<void>;
}

async function startChild(path: string): Promise<Child> {
  const { child, ended } = await start(program(path));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  child.stderr.resume();
  const read = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error("the process has ended");
    return JSON.parse(value);
  };
  const say = (line: string): void => void child.stdin.write(`${line}\n`);
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    child.stdout.resume();
    await ended;
  };
  onTestFinished(kill);
  expect(await read()).toBe("ready");
  return {
    say,
    read,
    ask: (line) => {
      say(line);
      return read();
    },
    kill,
  };
}

function program(path: string, mode = "serve"): Program {
  const args = ["--import", import.meta.resolve("tsx"), "test/store/sqlite-child.ts", path, mode];
  return { command: process.execPath, args };
}

async function open(path: string): Promise<Store> {
  const store = await sqliteStore(path);
  onTestFinished(() => store.close());
  return store;
}
