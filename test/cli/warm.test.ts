import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { warmFolder } from "../../src/cli/warm/warm-folder.ts";
import { root } from "../e2e/support/places.ts";
import { isRunning, until } from "../fixtures/children/processes.ts";
import { createHome, type Ended, type Home, json, plugbay, program, type RunOptions } from "./support/cli.ts";
import { serveShop } from "./support/served-shop.ts";
import { inTerminal, keys, python } from "./support/terminal.ts";

// Servers that are kept up between commands. Every test has a home of its own, and leaves no process.

const file = join(root, "test", "fixtures", "children", "warm-server.mjs");
const server = ["--", process.execPath, file];
const revisions = ["2025-11-25", "2026-07-28"] as const;

let home: Home;
let log: string;
/** Every process that was seen. */
let pids: Set<number>;
beforeEach(() => {
  home = createHome();
  log = home.write("calls.log", "");
  pids = new Set();
});

afterEach(async () => {
  for (const { pid, servers } of await status())
    for (const one of [pid, ...servers.map((kept) => kept.pid)]) pids.add(one);
  expect((await plugbay(home, ["warm", "stop", "--all"])).code).toBe(0);
  await until(() => ![...pids].some(isRunning));
  expect(sockets()).toEqual([]);
});

const warm = (args: readonly string[], options?: RunOptions): Promise<Ended> =>
  plugbay(home, ["--warm", ...args, "--env", `WARM_LOG=${log}`, ...server], options);

/** The number of the process that answers. */
async function pidOf(...args: readonly string[]): Promise<number> {
  const { code, stdout } = await warm(["call", "pid", ...args]);
  expect(code).toBe(0);
  pids.add(Number(stdout));
  return Number(stdout);
}

interface Kept {
  readonly id: string;
  readonly names: readonly string[];
  readonly pid: number;
  readonly version: string;
  readonly memoryBytes: number;
  readonly servers: readonly { readonly pid: number; readonly revision: string; readonly memoryBytes: number }[];
}

async function status(): Promise<readonly Kept[]> {
  return (json(await plugbay(home, ["warm", "status", "--json"])) as { readonly kept: readonly Kept[] }).kept;
}

function sockets(folder = warmFolder(home.env)): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => !name.endsWith(".pid"));
  } catch {
    return [];
  }
}

const logged = (): readonly string[] => readFileSync(log, "utf8").split("\n").slice(0, -1);
const linesOf = (text: string): readonly string[] => text.trim().split("\n");

describe("a server that is kept", () => {
  it.each(revisions)("answers the next command, too, in %s", async (revision) => {
    const first = await pidOf("--revision", revision);
    expect(await pidOf("--revision", revision)).toBe(first);
    const [kept, ...others] = await status();
    expect(others).toEqual([]);
    expect(kept).toMatchObject({
      names: [expect.stringContaining("warm-server.mjs")],
      servers: [{ pid: first, revision }],
    });
    expect(kept?.memoryBytes).toBeGreaterThan(1_000_000);
    expect(kept?.servers[0]?.memoryBytes).toBeGreaterThan(1_000_000);
  });

  it("is used with PLUGBAY_WARM=1, and not without", async () => {
    const env = { PLUGBAY_WARM: "1", WARM_LOG: log };
    const call = ["call", "pid", "--env", `WARM_LOG=${log}`, ...server];
    const { stdout } = await plugbay(home, call, { env });
    expect((await plugbay(home, call, { env })).stdout).toBe(stdout);
    expect((await plugbay(home, call)).stdout).not.toBe(stdout);
    expect(await pidOf()).toBe(Number(stdout));
  });

  it("is another one with other arguments, variables or another folder", async () => {
    const first = await pidOf();
    expect(await pidOf("--env", "MORE=1")).not.toBe(first);
    expect(await pidOf("--env", "MORE=2")).not.toBe(first);
    expect(await pidOf("--env", "MORE=1")).not.toBe(await pidOf("--env", "MORE=2"));
    expect(await status()).toHaveLength(3);
  });

  it("has the variables of the first command, as far as they are not named", async () => {
    const variable = (env: Readonly<Record<string, string>>) =>
      warm(["call", "variable", "name=SECRET", "--env", "SECRET"], { env }).then(({ stdout }) => stdout);
    expect(await variable({ SECRET: "first", LANG: "C" })).toBe("first\n");
    expect(await variable({ SECRET: "second", LANG: "C" })).toBe("second\n");
    expect((await status()).length).toBe(2);
    expect(JSON.stringify([await status(), sockets()])).not.toMatch(/first|second/);
  });

  it("is at a URL, too", async () => {
    const served = await serveShop();
    try {
      for (const revision of revisions) {
        const args = ["--warm", "call", served.url, "buy", "sku=A1", "--revision", revision];
        expect(await plugbay(home, args)).toMatchObject({ code: 0, stdout: '{"sku":"A1"}\n' });
        expect(await plugbay(home, args)).toMatchObject({ code: 0, stdout: '{"sku":"A1"}\n' });
      }
      expect(await plugbay(home, ["warm", "stop", served.url])).toMatchObject({ code: 0 });
      expect(await status()).toEqual([]);
    } finally {
      await served.close();
    }
  });

  it("shows its stderr to the command that asks for it", async () => {
    await pidOf();
    expect(await warm(["call", "mutter"])).toMatchObject({ code: 0, stderr: "" });
    expect(await warm(["call", "mutter", "--verbose"])).toMatchObject({ code: 0, stderr: "muttering\n" });
  });

  it.each(revisions)("that crashes is told with its stderr, and is started again, in %s", async (revision) => {
    const first = await pidOf("--revision", revision);
    const { code, stderr } = await warm(["call", "crash", "--revision", revision]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/exited with code 7; stderr: out of paper/);
    expect(await pidOf("--revision", revision)).not.toBe(first);
  });

  it("that cannot be started is told, and nothing is kept", async () => {
    const { code, stderr } = await plugbay(home, ["--warm", "tools", "--", join(home.folder, "none")]);
    expect(code).toBe(3);
    expect(stderr).toContain("no such file");
    await until(() => sockets().length === 0);
  });

  it("cannot be used by what has a connection of its own", async () => {
    const { code, stderr } = await plugbay(home, ["--warm", "bench", "pid", ...server]);
    expect(code).toBe(2);
    expect(stderr).toContain("leave --warm out");
  });
});

describe("two commands at once", () => {
  it("start one background process", async () => {
    await Promise.all(["a", "b", "c", "d"].map(() => pidOf()));
    const all = await status();
    expect(all).toHaveLength(1);
    expect(all[0]?.servers.map(({ pid }) => pid)).toContain(await pidOf());
    expect(sockets()).toHaveLength(1);
  });

  it.each(revisions)("hear only of their own calls in %s", async (revision) => {
    await pidOf("--revision", revision);
    const both = await Promise.all(
      ["one", "two"].map((name) => warm(["call", "meet", `name=${name}`, "--revision", revision])),
    );
    for (const [place, name] of ["one", "two"].entries()) {
      expect(both[place]?.stdout).toMatch(new RegExp(`^${name} \\d+\n$`));
      expect(linesOf(both[place]?.stderr ?? "")).toEqual([`info: log of ${name}`]);
    }
    // What a server writes need not belong to a call: each command has a server of its own, and both are kept.
    expect(new Set(both.map(({ stdout }) => stdout.replace(/\D/g, ""))).size).toBe(2);
    expect((await status())[0]?.servers).toHaveLength(2);
  });

  it.each(revisions)("do not cancel each other's calls in %s", async (revision) => {
    const says = (text: string) => (): boolean => logged().includes(text);
    const cancelled = warm(["call", "wait", "--revision", revision], {
      onStart: (child) => void until(() => logged().includes("me")).then(() => child.kill("SIGINT")),
    });
    await until(() => logged().length === 1);
    expect(await warm(["call", "meet", "name=me", "--revision", revision])).toMatchObject({ code: 0 });
    expect(await cancelled).toMatchObject({ code: 130 });
    await until(says("cancelled"));
  });
});

describe.skipIf(python === undefined)("a question", () => {
  it.each(revisions)("is asked in the terminal of the command in %s", async (revision) => {
    const args = ["--warm", "call", "order", "--revision", revision, "--env", `WARM_LOG=${log}`, ...server];
    const answers = [];
    for (const dish of ["soup", "cake"]) {
      const steps = [
        { expect: "dish", send: `${dish}${keys.enter}` },
        { expect: "Send this?", send: keys.enter },
      ];
      const session = await inTerminal(home, args, steps);
      expect(session).toMatchObject({ failed: null, code: 0 });
      const [, pid] = new RegExp(`accept ${dish} (\\d+)`).exec(session.text) ?? [];
      answers.push(pid);
    }
    expect(answers[0]).toMatch(/^\d+$/);
    expect(answers[1]).toBe(answers[0]);
    const { code, stderr } = await warm(["call", "order", "--revision", revision]);
    expect(code).toBe(1);
    expect(stderr).toContain("run this on a terminal");
  });
});

describe("when a process is killed", () => {
  it.each(revisions)("a command: its call is cancelled, and the server goes on, in %s", async (revision) => {
    const first = await pidOf("--revision", revision);
    const ended = await warm(["call", "wait", "--revision", revision], {
      onStart: (child) => void until(() => logged().length === 1).then(() => child.kill("SIGKILL")),
    });
    expect(ended.code).toBe(null);
    await until(() => logged().includes("cancelled"));
    expect(await pidOf("--revision", revision)).toBe(first);
  });

  it("the background process: the command says so, the server ends, and the next command starts both", async () => {
    const first = await pidOf();
    const [{ pid } = { pid: 0 }] = await status();
    const { code, stderr } = await warm(["call", "wait"], {
      onStart: () => void until(() => logged().length === 1).then(() => process.kill(pid, "SIGKILL")),
    });
    expect(code).toBe(3);
    expect(stderr).toContain("the background process that kept the server has ended");
    await until(() => !isRunning(first));
    expect(sockets()).toHaveLength(1);
    expect(await status()).toEqual([]);
    const all = await Promise.all(["a", "b", "c"].map(() => pidOf()));
    expect(all).not.toContain(first);
    expect(await status()).toHaveLength(1);
    expect(sockets()).toHaveLength(1);
  });

  it("the background process by SIGTERM: it ends its server first", async () => {
    const first = await pidOf();
    const [{ pid } = { pid: 0 }] = await status();
    process.kill(pid, "SIGTERM");
    await until(() => !isRunning(pid) && !isRunning(first));
    expect(sockets()).toEqual([]);
  });
});

describe("a process that hangs", () => {
  it("is ended with the command that waits for it, where it is a server that does not answer", async () => {
    const started = join(home.folder, "started");
    const program = `require("fs").writeFileSync(${JSON.stringify(started)}, ""); setInterval(() => {}, 60_000)`;
    const mute = ["--", process.execPath, "-e", program];
    const { code } = await plugbay(home, ["--warm", "tools", ...mute], {
      onStart: (child) => void until(() => existsSync(started)).then(() => child.kill("SIGINT")),
    });
    expect(code).toBe(130);
    await until(() => sockets().length === 0);
    const late = await plugbay(home, ["--warm", "tools", "--connect-timeout", "3s", ...mute]);
    expect(late).toMatchObject({ code: 3, stderr: expect.stringContaining("tried server/discover") });
    await until(() => sockets().length === 0);
  });

  it("is killed by warm stop, where it is the background process", async () => {
    const first = await pidOf();
    const [{ pid, id } = { pid: 0, id: "" }] = await status();
    process.kill(pid, "SIGSTOP");
    const { code, stderr } = await warm(["call", "pid", "--connect-timeout", "10ms"]);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("end it with plugbay warm stop") });
    expect(await plugbay(home, ["warm", "stop", id.slice(0, 8)])).toMatchObject({ code: 0 });
    await until(() => !isRunning(pid) && !isRunning(first));
    expect(await pidOf()).not.toBe(first);
  });
});

describe("the end", () => {
  it("comes by itself when no command has used the server for a while", async () => {
    const first = await pidOf("--idle", "20ms");
    await until(() => !isRunning(first) && sockets().length === 0);
    expect(await pidOf()).not.toBe(first);
  });

  it("does not come while a command uses it", async () => {
    const waiting = warm(["call", "meet", "name=one", "--idle", "1ms"]);
    await until(() => logged().length === 1);
    expect(await warm(["call", "meet", "name=two", "--idle", "1ms"])).toMatchObject({ code: 0 });
    expect(await waiting).toMatchObject({ code: 0 });
  });

  it("comes with warm stop, for one target or for all", async () => {
    home.write("mcp.json", {
      mcpServers: { kept: { command: process.execPath, args: [file], env: { WARM_LOG: log } } },
    });
    const named = Number((await plugbay(home, ["--warm", "call", "kept:pid"])).stdout);
    const typed = await pidOf("--env", "MORE=1");
    expect(isRunning(named)).toBe(true);
    expect(await plugbay(home, ["warm", "stop", "kept"])).toMatchObject({ code: 0, stdout: "stopped kept\n" });
    expect(isRunning(named)).toBe(false);
    expect(isRunning(typed)).toBe(true);
    expect(await plugbay(home, ["warm", "stop", "other"])).toMatchObject({ code: 0, stdout: "nothing was kept\n" });
    expect(await plugbay(home, ["warm", "stop", ...server])).toMatchObject({ code: 0 });
    expect(isRunning(typed)).toBe(false);
    expect(await plugbay(home, ["warm"])).toMatchObject({ code: 0, stdout: "nothing is kept\n" });
  });

  it.each([
    ["a stop without a target", ["warm", "stop"], "--all"],
    ["what there is not", ["warm", "stopp"], "did you mean stop"],
    ["a time without --warm", ["tools", "--idle", "1m", ...server], "--warm"],
  ])("refuses %s", async (_, args, said) => {
    const { code, stderr } = await plugbay(home, args);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });
});

describe("the socket", () => {
  it("is in a folder that only its owner can enter", async () => {
    await pidOf();
    const folder = warmFolder(home.env);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const [name = ""] = sockets();
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    chmodSync(folder, 0o755);
    const { code, stderr } = await warm(["call", "pid"]);
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining("can be entered by other users") });
    chmodSync(folder, 0o700);
    await pidOf();
  });

  it("is not taken for one where another file is", async () => {
    await pidOf();
    const [name = ""] = sockets();
    await plugbay(home, ["warm", "stop", "--all"]);
    const path = join(warmFolder(home.env), name);
    writeFileSync(path, "");
    const { code, stderr } = await warm(["call", "pid"]);
    expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining("not a socket of yours") });
    rmSync(path);
  });

  it("is in the folder for the run time of the user, where there is one", async () => {
    const env = { XDG_RUNTIME_DIR: join(home.folder, "run") };
    expect(warmFolder({ ...home.env, ...env })).toBe(warmFolder(home.env));
    mkdirSync(env.XDG_RUNTIME_DIR);
    const folder = join(env.XDG_RUNTIME_DIR, "plugbay", "warm");
    expect(warmFolder({ ...home.env, ...env })).toBe(folder);
    expect(await warm(["call", "pid"], { env })).toMatchObject({ code: 0 });
    expect(sockets(folder)).toHaveLength(1);
    expect(sockets()).toEqual([]);
    expect(await plugbay(home, ["warm", "stop", "--all"], { env })).toMatchObject({ code: 0 });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is elsewhere where its path would be too long", async () => {
    const env = { XDG_CACHE_HOME: join(home.folder, "x".repeat(80)) };
    const folder = warmFolder({ ...home.env, ...env });
    expect(folder).toMatch(/^\/tmp\/plugbay-/);
    try {
      const { stdout } = await warm(["call", "pid"], { env });
      expect((await warm(["call", "pid"], { env })).stdout).toBe(stdout);
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      expect(await plugbay(home, ["warm", "stop", "--all"], { env })).toMatchObject({ code: 0 });
      expect(isRunning(Number(stdout))).toBe(false);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("another version of plugbay", () => {
  it("ends the background process of this one, and starts its own", async () => {
    const other = otherVersion();
    const first = await pidOf();
    const ended = await plugbay(home, ["--warm", "call", "pid", "--env", `WARM_LOG=${log}`, ...server], {
      program: other,
    });
    expect(ended.code).toBe(0);
    expect(Number(ended.stdout)).not.toBe(first);
    await until(() => !isRunning(first));
    expect(await status()).toMatchObject([{ version: "99.0.0", servers: [{ pid: Number(ended.stdout) }] }]);
  });

  /** A copy of the program that says it is of another version. */
  function otherVersion(): string {
    const folder = join(home.folder, "other");
    cpSync(join(program, ".."), join(folder, "node"), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    home.write("other/package.json", { type: "module" });
    for (const name of readdirSync(join(folder, "node"), { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".js")) continue;
      const path = join(folder, "node", name);
      writeFileSync(
        path,
        readFileSync(path, "utf8").replaceAll(
          /name:\s*"plugbay",\s*version:\s*"[\d.]+"/g,
          'name:"plugbay",version:"99.0.0"',
        ),
      );
    }
    return join(folder, "node", "plugbay.js");
  }
});
