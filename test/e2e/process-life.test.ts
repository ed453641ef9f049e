import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { find } from "../../scripts/system-programs.mjs";
import { isRunning, until } from "../fixtures/children/processes.ts";
import { quietPort } from "../support/quiet-port.ts";
import { type Program, root, script } from "./support/places.ts";
import { type Ended, run, start } from "./support/run.ts";

// What keeps a program alive, and what ends with it. Every program here is a real one; whether a process is there, /proc says.

const children = "test/fixtures/children";
const python = find("python");

describe("a program stays until what it awaits has settled", () => {
  it.each<[what: string, said: string]>([
    ["client.close", "closed"],
    ["host.close", "closed"],
    ["connect", "timeout"],
    ["callTool", "timeout"],
    ["callTool in an older revision", "timeout"],
    ["runTools", "limit-reached"],
    ["host.events", "tried again"],
    ["host.changes", "came back"],
    ["host.listTools", "timeout"],
    ["host.settled", "down"],
    ["host.callTool", "timeout"],
    ["handler.close", "200"],
  ])("%s (P1)", async (what, said) => {
    const { code, stdout, stderr } = await run(script(`${children}/awaits.mjs`, what));
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: said, stderr: "" });
  });

  it.each(["client.close over npx", "host.close over npx"])("%s (P1)", async (what) => {
    const { code, stdout, stderr } = await run(script(`${children}/awaits.mjs`, what, npxProject()));
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "closed", stderr: "" });
  });

  it("openStore, where nobody listens (P1)", async () => {
    const url = `redis://127.0.0.1:${await quietPort()}`;
    const { code, stdout, stderr } = await run(script(`${children}/awaits.mjs`, "openStore", url));
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "unavailable", stderr: "" });
  });

  it("callTool of a server that is busy and closes its connections (B11)", async () => {
    const url = await busyServer();
    const { code, stdout } = await run(script(`${children}/awaits.mjs`, "callTool of a busy server", url));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "done" });
  });

  it("and no longer: what nobody awaits does not keep it (P1)", async () => {
    const { code, stdout } = await run(script(`${children}/leaves.mjs`));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "hi" });
  });
});

describe("no server outlives a program", () => {
  const node = process.execPath;
  const server = join(root, children, "clinging-server.mjs");
  const servers: Readonly<Record<string, readonly string[]>> = {
    "that ignores EOF and SIGTERM": [node, server, "ignores"],
    "with a child and a grandchild": [node, server, "ignores", "family"],
    "whose leader ends first": [node, server, "family"],
    "behind sh -c": ["/bin/sh", "-c", `"${node}" "${server}" ignores family; true`],
  };

  it.each(Object.entries(servers))("a server %s, at SIGINT, SIGTERM, SIGHUP and SIGKILL (P2)", async (_, command) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"] as const) {
      const { pids, child, ended } = await startWith("wait", command);
      expect(pids.filter((pid) => !isRunning(pid))).toEqual([]);
      child.kill(signal);
      expect(await ended).toEqual({ code: null, signal });
      await until(() => !pids.some(isRunning));
    }
  });

  it.each<[how: string, ended: Ended]>([
    ["exit", { code: 7, signal: null }],
    ["throw", { code: 1, signal: null }],
  ])("that ends by %s (P2)", async (how, expected) => {
    const { pids, ended } = await startWith(how, servers["with a child and a grandchild"] ?? []);
    expect(await ended).toEqual(expected);
    await until(() => !pids.some(isRunning));
  });

  it.each<[how: string, ended: Ended]>([
    ["handles", { code: 5, signal: null }],
    ["closes", { code: 6, signal: null }],
  ])("whose own handler of SIGINT %s it (P2)", async (how, expected) => {
    const { pids, child, ended } = await startWith(how, servers["with a child and a grandchild"] ?? []);
    child.kill("SIGINT");
    expect(await ended).toEqual(expected);
    await until(() => !pids.some(isRunning));
  });

  it.each(["SIGINT", "SIGTERM"] as const)("that is started with npx, at %s (P2)", async (signal) => {
    const command = ["npx", "clinging-server", "ignores", "family"];
    const { pids, child, ended } = await startWith("wait", command, { cwd: npxProject() });
    child.kill(signal);
    expect(await ended).toEqual({ code: null, signal });
    await until(() => !pids.some(isRunning));
  });

  it.each<[how: string, ended: Ended]>([
    ["exit", { code: 7, signal: null }],
    ["throw", { code: 1, signal: null }],
  ])("without /bin/sh, that ends by %s (P2)", async (how, expected) => {
    const command = servers["with a child and a grandchild"] ?? [];
    const { pids, ended } = await startWith(how, command, { hasShell: false });
    expect(await ended).toEqual(expected);
    await until(() => !pids.some(isRunning));
  });

  it("without /bin/sh, at a signal, unless it ignores the end of its stdin (P2)", async () => {
    const { pids, child, ended } = await startWith("wait", [node, server], { hasShell: false });
    expect(childrenOf(child.pid ?? 0)).toEqual(pids);
    child.kill("SIGTERM");
    expect(await ended).toEqual({ code: null, signal: "SIGTERM" });
    await until(() => !pids.some(isRunning));
  });

  it.skipIf(python === undefined)("at Ctrl-C in a terminal (P2)", async () => {
    const command = [node, server, "ignores", "family"];
    const { args } = script(`${children}/with-child.mjs`, "wait", ...command);
    const program = { command: python ?? "", args: [join(root, children, "ctrl-c.py"), node, ...args] };
    const { stdout, stderr } = await run(program);
    if (stdout === "") throw new Error(stderr);
    const { line, signal } = JSON.parse(stdout);
    expect(signal).toBe(2);
    await until(() => !pidsIn(line).some(isRunning));
  });

  it.skipIf(process.platform !== "linux")(
    "and neither does the watchdog, nor does it outlive the last server (P2)",
    async () => {
      const { child, pid, ended } = await startWith("closes", servers["with a child and a grandchild"] ?? []);
      const watchdog = childrenOf(pid).find((each) => commandOf(each).startsWith("/bin/sh"));
      expect(watchdog).toBeGreaterThan(0);
      child.kill("SIGINT");
      await until(() => !isRunning(watchdog ?? 0));
      expect(await ended).toEqual({ code: 6, signal: null });
    },
  );
});

interface Circumstances {
  readonly cwd?: string;
  /** Whether the program finds `/bin/sh`. */
  readonly hasShell?: boolean;
}

/** Starts a program with a server, and waits until it has said which processes that has. */
async function startWith(how: string, command: readonly string[], { cwd, hasShell = true }: Circumstances = {}) {
  const { command: runtime, args } = script(`${children}/with-child.mjs`, how, ...command);
  const preload = hasShell ? [] : ["--import", pathToFileURL(join(root, children, "without-shell.mjs")).href];
  const program: Program = { command: runtime, args: [...preload, ...args] };
  const running = await start(cwd === undefined ? program : inFolder(program, cwd));
  const line = await new Promise<string>((resolve, reject) => {
    let said = "";
    running.child.stdout.on("data", (chunk: Buffer) => {
      said += chunk;
      if (said.includes("\n")) resolve(said);
    });
    let problem = "";
    running.child.stderr.on("data", (chunk: Buffer) => {
      problem += chunk;
    });
    void running.ended.then(() => reject(new Error(problem)));
  });
  const pids = pidsIn(line);
  started.push(...pids);
  return { ...running, pids };
}

/** The same program, in another folder. */
function inFolder({ command, args }: Program, cwd: string): Program {
  return { command: "/bin/sh", args: ["-c", 'cd "$0" && exec "$@"', cwd, command, ...args] };
}

const started: number[] = [];
const folders: string[] = [];
const closers: (() => void)[] = [];

afterAll(() => {
  for (const pid of started) if (isRunning(pid)) process.kill(pid, "SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true });
  for (const close of closers) close();
});

function pidsIn(line: string): readonly number[] {
  const pids = line.trim().split(" ").slice(1).map(Number);
  if (pids.length === 0 || !pids.every((pid) => pid > 0)) throw new Error(`no processes: ${line}`);
  return pids;
}

/** A folder in which `npx clinging-server` finds the server without a network. */
function npxProject(): string {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-npx-"));
  folders.push(folder);
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  const file = join(modules, ".bin", "clinging-server");
  writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${join(root, children, "clinging-server.mjs")}" "$@"\n`, {
    mode: 0o755,
  });
  symlinkSync(root, join(modules, "plugbay"));
  return folder;
}

/** A server that is busy twice before it answers, and never keeps a connection. */
async function busyServer(): Promise<string> {
  let calls = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString());
    const busy = { resultType: "input_required", requestState: "later" };
    const done = { resultType: "complete", content: [{ type: "text", text: "done" }] };
    const discovered = {
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} },
      serverInfo: { name: "busy", version: "1" },
      ttlMs: 0,
      cacheScope: "private",
    };
    const result = method === "server/discover" ? discovered : ++calls < 3 ? busy : done;
    response.writeHead(200, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

function childrenOf(pid: number): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((each) => each > 0 && parentOf(each) === pid);
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}

function commandOf(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8");
}
