import { spawn } from "node:child_process";
import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createHome, program } from "../cli/support/cli.ts";
import { serveShop } from "../cli/support/served-shop.ts";
import { root } from "../e2e/support/places.ts";
import { isRunning, until } from "../fixtures/children/processes.ts";

// How long a command takes from its start to its exit, beside the command line of the official inspector. Both are run in turn,
// so that what else happens on the machine slows both.

const rounds = 5;
const served = await serveShop();
afterAll(() => served.close());

interface Timed {
  readonly code: number | null;
  readonly stdout: string;
  readonly totalMs: number;
  /** From the last output to the exit. */
  readonly exitMs: number;
}

function timed(words: readonly string[], cwd: string = root): Promise<Timed> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, words, { cwd, stdio: ["ignore", "pipe", "ignore"] });
  let [stdout, saidAt] = ["", startedAt];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    saidAt = performance.now();
  });
  return new Promise((resolve) => {
    child.once("exit", (code) => {
      const endedAt = performance.now();
      const times = { totalMs: endedAt - startedAt, exitMs: endedAt - saidAt };
      child.once("close", () => resolve({ code, stdout, ...times }));
    });
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

const inspector = join(root, "node_modules", ".bin", "mcp-inspector");
const everything = [
  process.execPath,
  join(root, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"),
  "stdio",
];

describe("plugbay tools", () => {
  it.each([
    ["a program", ["--", ...everything], everything],
    ["a URL", [served.url], [served.url, "--transport", "http"]],
  ])(
    "of %s is at least three times faster than the inspector, from start to exit",
    async (_, ours, theirs) => {
      const times: Record<"ours" | "theirs", number[]> = { ours: [], theirs: [] };
      for (let round = 0; round < rounds; round++) {
        const one = await timed([program, "tools", ...ours]);
        const other = await timed([inspector, "--cli", ...theirs, "--method", "tools/list"]);
        expect([one.code, other.code]).toEqual([0, 0]);
        times.ours.push(one.totalMs);
        times.theirs.push(other.totalMs);
      }
      const [own, other] = [median(times.ours), median(times.theirs)];
      console.log(
        `${Math.round(own)} ms, the inspector ${Math.round(other)} ms: ${(other / own).toFixed(1)} times faster`,
      );
      expect(other / own).toBeGreaterThanOrEqual(3);
    },
    180_000,
  );
});

describe("a server behind npx", () => {
  it("is left within 200 ms after the answer, and no process of it stays", { timeout: 180_000 }, async () => {
    const home = createHome();
    home.write("package.json", { name: "home", version: "1.0.0", private: true });
    home.write("node_modules/clinging/package.json", { name: "clinging", version: "1.0.0", bin: "./main.mjs" });
    const fixture = join(root, "test", "fixtures", "children", "clinging-server.mjs");
    const main = home.write(
      "node_modules/clinging/main.mjs",
      `#!/usr/bin/env node\nawait import(${JSON.stringify(fixture)});\n`,
    );
    chmodSync(main, 0o755);
    home.write("node_modules/.bin/.keep", "");
    symlinkSync(main, join(home.folder, "node_modules", ".bin", "clinging"));
    const ends: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const line = [program, "call", "pids", "--", "npx", "--no", "clinging", "ignores", "family"];
      const { code, stdout, exitMs } = await timed(line, home.folder);
      expect(code).toBe(0);
      const pids = stdout.trim().split(" ").map(Number);
      expect(pids.every((pid) => pid > 0)).toBe(true);
      await until(() => !pids.some(isRunning));
      ends.push(exitMs);
    }
    console.log(`the exit came ${Math.round(median(ends))} ms after the answer`);
    expect(median(ends)).toBeLessThan(200);
  });
});
