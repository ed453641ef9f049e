import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { script } from "../../../test/fixtures/children/processes.ts";
import type { Opening } from "../../protocol/connection.ts";
import { systemClock } from "../../std/clock.ts";
import { openCommand } from "./spawn-channel.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "plugbay-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A command whose server can change its era between two starts. */
function command() {
  const file = join(folder, "era");
  const become = (era: "legacy" | "modern" | "neither") => writeFileSync(file, era);
  const open = async (changes: Partial<Opening> = {}) => {
    const opening: Opening = {
      info: { name: "tester", version: "1" },
      capabilities: {},
      answer: () => Promise.reject(new Error("nobody asks")),
      notified() {},
      timeoutMs: 20_000,
      clock: systemClock,
      ...changes,
    };
    const connection = await openCommand(script("either-era.mjs", file), opening, { probeMs: 20_000 });
    await connection.close();
    return { revision: connection.revision, first: connection.server.serverInfo.name };
  };
  return { become, open };
}

describe("openCommand", () => {
  it("notes that a server which does not answer writes something else to stdout", async () => {
    const ends = new AbortController();
    const noted: string[] = [];
    const opening: Opening = {
      info: { name: "tester", version: "1" },
      capabilities: {},
      answer: () => Promise.reject(new Error("nobody asks")),
      notified() {},
      trying: (what) => (answer) => {
        noted.push(`${what}: ${answer}`);
        ends.abort();
      },
      timeoutMs: 20_000,
      clock: systemClock,
      signal: ends.signal,
    };
    const args = ["-e", "console.log('listening on stdio'); process.stdin.resume();"];
    await expect(openCommand({ command: process.execPath, args }, opening, { probeMs: 20_000 })).rejects.toThrow();
    expect(noted[0]).toMatch(/^server\/discover: no answer; its stdout has lines that are not JSON-RPC; /);
  });

  it("remembers that a command is legacy, and does not probe it again", async () => {
    const { become, open } = command();
    become("legacy");
    expect(await open()).toEqual({ revision: "2025-11-25", first: "server/discover" });
    expect(await open()).toEqual({ revision: "2025-11-25", first: "initialize" });
  });

  it("starts a command that has become modern once more, and remembers that", async () => {
    const { become, open } = command();
    become("legacy");
    await open();
    become("modern");
    expect(await open()).toEqual({ revision: "2026-07-28", first: "server/discover" });
    become("legacy");
    expect(await open()).toEqual({ revision: "2025-11-25", first: "server/discover" });
  });

  it("asks for the revision it is told to, whatever it remembers", async () => {
    const { become, open } = command();
    become("legacy");
    await open();
    become("modern");
    expect(await open({ revision: "2026-07-28" })).toEqual({ revision: "2026-07-28", first: "server/discover" });
  });

  it("fails when a command speaks neither, once or again", async () => {
    const { become, open } = command();
    become("neither");
    await expect(open()).rejects.toMatchObject({ code: "method-not-found" });
    become("legacy");
    await open();
    become("neither");
    await expect(open()).rejects.toMatchObject({ code: "method-not-found" });
  });

  it("is not started again when connecting was cancelled", async () => {
    const { become, open } = command();
    become("legacy");
    await open();
    await expect(open({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "cancelled" });
  });
});
