import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import { root } from "../../e2e/support/places.ts";

/** The built program. */
export const program: string = join(root, "dist", "node", "plugbay.js");

/** The server of these tests, as words of a command line. */
export const shopFile: string = join(root, "test", "fixtures", "children", "shop-server.mjs");
export const shop: readonly string[] = ["--", process.execPath, shopFile];

/** A home, a folder to work in, and nothing of the user of this machine. */
export interface Home {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Writes a file below the folder, and returns its path. */
  write(path: string, content: string | object): string;
}

const folders: string[] = [];
const running = new Set<ChildProcess>();

afterAll(() => {
  for (const child of running) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function createHome(): Home {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-cli-"));
  folders.push(folder);
  const user = join(folder, "user");
  mkdirSync(user);
  const { PATH = "" } = process.env;
  const state = { XDG_CONFIG_HOME: join(user, ".config"), XDG_STATE_HOME: join(user, ".state") };
  return {
    folder,
    env: { PATH, HOME: user, ...state, TMPDIR: folder },
    write(path, content) {
      const file = join(folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
      return file;
    },
  };
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Another Node than the one that runs the tests. */
  readonly node?: string;
  /** Another program than the one that was built. */
  readonly program?: string;
  /** Is given the process, to send it a signal. */
  readonly onStart?: (child: ChildProcess) => void;
  /** Hears what it has written so far. */
  readonly onOutput?: (written: Pick<Ended, "stdout" | "stderr">) => void;
}

/** Runs `plugbay` to its end, without a terminal. */
export function plugbay(home: Home, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { input = "", env = {}, node = process.execPath, onStart, onOutput, program: file = program } = options;
  const child = spawn(node, [file, ...args], { cwd: home.folder, env: { ...home.env, ...env } });
  running.add(child);
  onStart?.(child);
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      written[name] += text;
      onOutput?.(written);
    });
  }
  // It may end before it has read its input.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return new Promise((resolve) => {
    child.on("close", (code) => {
      running.delete(child);
      resolve({ code, ...written });
    });
  });
}

/** What a run with `--json` wrote. */
export function json({ stdout }: Ended): unknown {
  return JSON.parse(stdout);
}
