import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { script } from "../fixtures/children/processes.ts";
import { run } from "./support/run.ts";

// 45 pages of 10 MB: a client in a process of its own gives up before they fill its memory.

const maxGrowth = 100_000_000;

interface Told {
  readonly code?: string;
  readonly data?: object;
  readonly grown: number;
}

async function listing(who: "client" | "host", target: string): Promise<Told> {
  const { command, args } = script("lists-all.mjs", who, target);
  const { stdout, stderr } = await run({ command, args: ["--expose-gc", ...args] });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as Told;
}

/** Serves over HTTP while `work` runs. */
async function served<T>(revision: string, shape: string, work: (url: string) => Promise<T>): Promise<T> {
  const { command, args } = script("endless-lists.mjs", "--http", revision, shape);
  const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const [url] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
    return await work(url);
  } finally {
    server.stdin.end();
    await once(server, "exit");
  }
}

const over = { code: "limit-reached", data: { limit: "maxListBytes", max: 16_777_216, scope: "call" } };

describe.each(["2026-07-28", "2025-11-25"] as const)("45 pages of 10 MB from a server of %s", (revision) => {
  it.each([
    ["client", "one"],
    ["client", "many"],
    ["host", "many"],
  ] as const)("over HTTP, to a %s, %s on a page, end at maxListBytes (H4)", async (who, shape) => {
    const told = await served(revision, shape, (url) => listing(who, url));
    expect(told).toMatchObject(over);
    expect(told.grown).toBeLessThan(maxGrowth);
  });

  it.each(["one", "many"])("over stdio, %s on a page, end at maxListBytes (H4)", async (shape) => {
    const target = script("endless-lists.mjs", "--stdio", revision, shape);
    const told = await listing("client", JSON.stringify(target));
    expect(told).toMatchObject(over);
    expect(told.grown).toBeLessThan(maxGrowth);
  });
});
