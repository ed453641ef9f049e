import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Host } from "../../src/host/index.ts";
import { script as child, isRunning, until } from "../fixtures/children/processes.ts";
import { McpError, openHost } from "./support/built.ts";
import { installed, script } from "./support/places.ts";
import { type Serving, serve } from "./support/serving.ts";

// One host over everything there is: official servers, ours in both eras, and those that do not work.

/** The processes that a process has started, and those that they have. */
async function descendants(pid: number): Promise<readonly number[]> {
  const own = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  const pids = own.split(" ").filter(Boolean).map(Number);
  return [...pids, ...(await Promise.all(pids.map(descendants))).flat()];
}

describe("a host over all kinds of servers", () => {
  let folder = "";
  let fixture: Serving;
  let host: Host;
  let before: readonly number[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "plugbay-host-"));
    await writeFile(join(folder, "note.txt"), "found");
    fixture = await serve(script("test/fixtures/everything-server.mjs", "--port", "0"));
    before = await descendants(process.pid);
    host = await openHost(
      {
        official: installed("mcp-server-everything"),
        files: installed("mcp-server-filesystem", folder),
        modern: { target: fixture.url, connectOptions: { revision: "2026-07-28" } },
        legacy: { target: fixture.url, connectOptions: { revision: "2025-11-25" } },
        missing: { command: "no-such-program-anywhere" },
        crashing: { command: process.execPath, args: ["-e", "console.error('no API key'); process.exit(3)"] },
        hanging: { target: child("deaf.mjs"), connectOptions: { connectTimeoutMs: 4_000, probeMs: 1_000 } },
      },
      { restart: { maxFailures: 2 }, listTimeoutMs: 0 },
    );
  });

  afterAll(async () => {
    await host.close();
    await rm(folder, { recursive: true });
  });

  it("has complete lists, and says which servers are not in them", async () => {
    const tools = await host.listTools();
    const servers = new Set(tools.map(({ server }) => server));
    expect([...servers]).toEqual(["official", "files", "modern", "legacy"]);
    for (const server of servers) {
      const client = await host.client(server);
      const own = await client.listTools();
      expect(tools.filter((tool) => tool.server === server).map(({ localName }) => localName)).toEqual(
        own.map(({ name }) => name),
      );
    }
    expect(tools.missing.map(({ server }) => server).toSorted()).toEqual(["crashing", "hanging", "missing"]);
    expect(new Set(tools.map(({ alias }) => alias)).size).toBe(tools.length);
    for (const { alias } of tools) expect(alias).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    const resources = await host.listResources();
    expect(new Set(resources.map(({ server }) => server)).size).toBeGreaterThanOrEqual(3);
    expect((await host.listPrompts()).length).toBeGreaterThan(3);
    expect((await host.listResourceTemplates()).length).toBeGreaterThan(2);
  });

  it("reports the broken ones with reasons, within their limits", async () => {
    const status = Object.fromEntries((await host.settled()).map((one) => [one.name, one]));
    expect(status.missing).toMatchObject({
      state: "down",
      reason: { message: expect.stringContaining("no-such-program-anywhere") },
      hint: expect.stringContaining("PATH"),
    });
    expect(status.crashing).toMatchObject({
      state: "down",
      reason: { code: "connection-closed", message: expect.stringContaining("exited with code 3") },
      stderr: expect.stringContaining("no API key"),
    });
    expect(status.hanging).toMatchObject({ state: expect.stringMatching(/down|connecting/) });
    await expect(host.callTool("hanging:any")).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("4000 ms"),
    });
    for (const name of ["official", "files", "modern", "legacy"])
      expect(status[name]).toMatchObject({ state: "ready" });
    expect([status.modern?.revision, status.legacy?.revision]).toEqual(["2026-07-28", "2025-11-25"]);
  });

  it("routes calls", async () => {
    const textOf = async (name: string, args: Record<string, string | number>) =>
      (await host.callTool(name, args)).content[0];
    expect(await textOf("official:echo", { message: "hi" })).toMatchObject({ text: expect.stringContaining("hi") });
    expect(await textOf("files:read_text_file", { path: join(folder, "note.txt") })).toMatchObject({ text: "found" });
    const both = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const [one, two] = await Promise.all([
          host.callTool("modern:add", { a: index, b: 1 }),
          host.callTool("legacy:add", { a: index, b: 2 }),
        ]);
        return [one.structuredContent, two.structuredContent];
      }),
    );
    expect(both).toEqual(
      Array.from({ length: 50 }, (_, index) =>
        [expect.anything(), expect.anything()].map((_, which) => ({ sum: index + 1 + which })),
      ),
    );
  });

  it("leaves no process behind, the watchdog included (P2)", async () => {
    const started = (await descendants(process.pid)).filter((pid) => !before.includes(pid));
    expect(started.length).toBeGreaterThanOrEqual(2);
    await host.close();
    expect(started.filter(isRunning)).toEqual([]);
    const left = (await descendants(process.pid)).filter((pid) => !before.includes(pid) && isRunning(pid));
    expect(left).toEqual([]);
  });
});

describe("a child that is killed in the middle of 100 calls", () => {
  it("fails them with its last words, and is back by itself; nothing is sent twice that must not be", async () => {
    const folder = await mkdtemp(join(tmpdir(), "plugbay-kill-"));
    const log = join(folder, "calls.txt");
    await writeFile(log, "");
    let said = "";
    const hear = (text: string): void => {
      said += text;
    };
    const pids = () => [...said.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
    await using host = await openHost({
      mortal: {
        target: { ...child("mortal.mjs", log), stderr: hear },
        connectOptions: { timeoutMs: 0, maxTotalMs: 0 },
      },
    });
    await host.listTools();
    const numbers = Array.from({ length: 50 }, (_, n) => n);
    const writes = Promise.allSettled(numbers.map((n) => host.callTool("mortal:write", { n })));
    const reads = Promise.allSettled(numbers.map((n) => host.callTool("mortal:read", { n })));
    let seen = "";
    while (seen.split("\n").length < 60) seen = await readFile(log, "utf8");
    await until(() => pids().length > 0);
    await appendFile(log, "killed\n");
    process.kill(pids()[0] as number, "SIGKILL");

    const failed = await writes;
    for (const one of failed) {
      expect(one.status).toBe("rejected");
      const { reason } = one as PromiseRejectedResult;
      expect(reason).toBeInstanceOf(McpError);
      expect(reason).toMatchObject({
        code: "connection-closed",
        data: { signal: "SIGKILL", stderr: expect.stringContaining("pid ") },
      });
    }
    const answered = await reads;
    expect(answered.filter(({ status }) => status === "rejected")).toEqual([]);
    expect(pids()).toHaveLength(2);
    const calls = (await readFile(log, "utf8")).split("\n").filter((line) => line.startsWith("w"));
    expect(new Set(calls).size).toBe(calls.length);
    await until(() => host.servers()[0]?.state === "ready");
    await host.close();
    for (const pid of pids()) expect(isRunning(pid)).toBe(false);
    await rm(folder, { recursive: true });
  });
});
