import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createHome, type Home, program } from "../cli/support/cli.ts";
import { serveShop } from "../cli/support/served-shop.ts";
import { root, script } from "../e2e/support/places.ts";
import { run } from "../e2e/support/run.ts";
import { isRunning, until } from "../fixtures/children/processes.ts";

// How long a command takes from its start to its exit, beside the command line of the official inspector and beside mcporter.
// Each round runs every program once, in an order that turns, so that what else happens on the machine slows all of them.

const rounds = 5;
const home = createHome();
const served = await serveShop();
afterAll(() => served.close());

const UNAVAILABLE = 69;
const folder = join(root, ".tmp", "mcporter");
const installed = await run(script("test/support/install-locked.mjs", "test/bench/mcporter", folder));
if (installed.code !== 0 && installed.code !== UNAVAILABLE) throw new Error(installed.stderr);
const hasMcporter = installed.code === 0;
if (!hasMcporter) console.log(`without mcporter, which cannot be installed without a network: ${installed.stderr}`);
const mcporter = join(folder, "node_modules", "mcporter", "dist", "cli.js");

interface Timed {
  readonly code: number | null;
  readonly stdout: string;
  readonly totalMs: number;
  /** From the last output to the exit. */
  readonly exitMs: number;
}

/** Runs a program of Node. Its environment, which its children inherit, has the mark. */
function timed(words: readonly string[], { folder: cwd, env }: Home, mark = ""): Promise<Timed> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, words, {
    cwd,
    env: { ...env, TEST_MARK: mark },
    stdio: ["ignore", "pipe", "ignore"],
  });
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

/** Whether a process runs whose environment has the mark. Only Linux tells the environment of other processes. */
function runsWith(mark: string): boolean {
  if (process.platform !== "linux") return false;
  return readdirSync("/proc").some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`TEST_MARK=${mark}\0`) && isRunning(Number(pid));
    } catch {
      return false;
    }
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

/** The programs that list the tools of a target, by name, with the words of their command lines. */
type Contestants = Readonly<Record<string, readonly string[]>>;

const targets: readonly (readonly [name: string, contestants: Contestants])[] = [
  [
    "a program",
    {
      plugbay: [program, "tools", "--", ...everything],
      inspector: [inspector, "--cli", ...everything, "--method", "tools/list"],
      ...(hasMcporter && { mcporter: [mcporter, "list", "--stdio", everything.join(" "), "--json"] }),
    },
  ],
  [
    "a URL",
    {
      plugbay: [program, "tools", served.url],
      inspector: [inspector, "--cli", served.url, "--transport", "http", "--method", "tools/list"],
      ...(hasMcporter && { mcporter: [mcporter, "list", served.url, "--allow-http", "--json"] }),
    },
  ],
];

/** A tool of either server: that its name is printed shows that the tools were listed. */
const tool = /\b(echo|buy)\b/;

/** The times of every round, by program. The first round fills the caches of the disk and is left out. */
async function race(contestants: Contestants): Promise<Map<string, number[]>> {
  const times = new Map(Object.keys(contestants).map((name): [string, number[]] => [name, []]));
  const entries = Object.entries(contestants);
  for (let round = 0; round <= rounds; round++) {
    for (const [name, words] of round % 2 === 0 ? entries : entries.toReversed()) {
      const mark = randomUUID();
      const { code, stdout, totalMs } = await timed(words, home, mark);
      expect({ name, code, stdout }).toEqual({ name, code: 0, stdout: expect.stringMatching(tool) });
      if (name === "plugbay") await until(() => !runsWith(mark));
      if (round > 0) times.get(name)?.push(totalMs);
    }
  }
  return times;
}

/** How many times longer the other program took: the median of the rounds, in each of which the machine was equally busy. */
function ratio(times: ReadonlyMap<string, readonly number[]>, other: string): number {
  const own = times.get("plugbay") ?? [];
  return median((times.get(other) ?? []).map((ms, round) => ms / (own[round] ?? Number.NaN)));
}

describe("plugbay tools", () => {
  it.each(targets)(
    "of %s is three times faster than the inspector, and faster than mcporter, start to exit",
    {
      timeout: 180_000,
    },
    async (_, contestants) => {
      const times = await race(contestants);
      const lines = [...times].map(([name, values]) => {
        const all = values.map((ms) => Math.round(ms)).join(" ");
        return `${name} ${Math.round(median(values))} ms (${all}), ${ratio(times, name).toFixed(1)} times ours`;
      });
      console.log(lines.join("\n"));
      expect(ratio(times, "inspector")).toBeGreaterThanOrEqual(3);
      if (hasMcporter) expect(ratio(times, "mcporter")).toBeGreaterThan(1);
    },
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
      const mark = randomUUID();
      const { code, stdout, exitMs } = await timed(line, home, mark);
      expect(code).toBe(0);
      const pids = stdout.trim().split(" ").map(Number);
      expect(pids.every((pid) => pid > 0)).toBe(true);
      await until(() => !pids.some(isRunning) && !runsWith(mark));
      ends.push(exitMs);
    }
    console.log(`the exits came ${ends.map((ms) => Math.round(ms)).join(", ")} ms after the answer`);
    expect(Math.max(...ends)).toBeLessThan(200);
  });
});
