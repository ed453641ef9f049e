import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import { isRunning, script, typedScript, until } from "../../../test/fixtures/children/processes.ts";
import type { Channel } from "../../jsonrpc/channel.ts";
import type { Incoming, Message } from "../../jsonrpc/message.ts";
import { createManualClock, type ManualClock } from "../../testing/clock.ts";
import type { Command } from "../command.ts";
import { type ChildChannel, type SpawnOptions, spawnChannel } from "./spawn-channel.ts";

const opened: ChildChannel[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((channel) => channel.close()));
});

describe("spawnChannel, talking", () => {
  it("starts a server, talks with it, and ends it by closing its stdin", async () => {
    const channel = open(script("echo.mjs"));
    channel.send(request(1, { text: "grüße\n日本" }));
    expect(await next(channel)).toEqual([{ kind: "success", id: 1, result: { text: "grüße\n日本" } }]);
    await channel.close();
    expect(await channel.exited).toEqual({ kind: "exited", exitCode: 0, signal: null, stderr: "" });
    expect(await next(channel)).toBeUndefined();
  });

  it("C93, V31: hands over arguments as they are, without a shell, and only the safe part of our environment", async () => {
    vi.stubEnv("PLUGBAY_TEST_TOKEN", "secret");
    const code = `const params = { args: process.argv.slice(1), names: Object.keys(process.env), set: process.env.SET };
      process.stdout.write(JSON.stringify({ jsonrpc: "2.0", method: "seen", params }) + "\\n")`;
    const args = ["-e", code, "$(id) && `id`", 'a "b" * \n'];
    const channel = open({ command: process.execPath, args, env: { SET: "x y" } });
    expect(await next(channel)).toEqual([
      {
        kind: "notification",
        method: "seen",
        params: { args: args.slice(2), names: expect.not.arrayContaining(["PLUGBAY_TEST_TOKEN"]), set: "x y" },
      },
    ]);
    vi.unstubAllEnvs();
  });

  it.each<[output: string, before: readonly string[]]>([
    ["bytes", []],
    ["garbage", ["parse error: not valid JSON", "empty batch", "parse error: not valid JSON"]],
    ["invalid-utf8", ["parse error: not valid UTF-8"]],
    ["long-line", ["parse error: line longer than 16777216 bytes (maxMessageBytes)"]],
  ])("reads a message whatever precedes it and however it is cut: %s", async (output, before) => {
    const channel = open(script("writes.mjs", output));
    const arrived: Incoming[] = [];
    while (arrived.length <= before.length) arrived.push(...((await next(channel)) ?? []));
    expect(arrived).toEqual([
      ...before.map((message) =>
        expect.objectContaining({ kind: "malformed", error: expect.objectContaining({ message }) }),
      ),
      { kind: "success", id: 1, result: { text: "grüße 日本 😀" } },
    ]);
  });

  it("C87: does not mix up 200 answers of 1 MiB that are written at the same time", async () => {
    const channel = open(typedScript("stdio-server.mjs"));
    for (let id = 0; id < 200; id++) await channel.send(request(id, { fill: letter(id) }, "big"));
    const seen = new Set<unknown>();
    while (seen.size < 200) {
      for (const message of (await next(channel)) ?? []) {
        if (message.kind !== "success") throw new Error(`unexpected ${message.kind}`);
        expect(message.result.text === letter(Number(message.id)).repeat(1_048_576)).toBe(true);
        seen.add(message.id);
      }
    }
  });

  it("makes a server that floods us wait, and loses nothing", async () => {
    const folder = mkdtempSync(join(tmpdir(), "plugbay-flood-"));
    const path = join(folder, "written");
    const written = (): readonly number[] =>
      existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1).map(Number) : [];
    const channel = open(script("flood.mjs", "100000", path));
    await until(() => written().length > 0);
    expect(written()[0]).toBeLessThan(4_000);
    let count = 0;
    while (count < 100_000) count += (await next(channel))?.length ?? 0;
    expect(count).toBe(100_000);
    await until(() => written().at(-1) === 100_000);
    rmSync(folder, { recursive: true });
  });

  it("says that a server which does not read is slow, and gets rid of it", async () => {
    const clock = createManualClock();
    const channel = open(script("deaf.mjs"), { clock });
    await next(channel);
    const sent = Array.from({ length: 32 }, (_, id) => channel.send(request(id, { text: "x".repeat(1_048_576) })));
    expect(sent.at(-1)).toBeInstanceOf(Promise);
    await settle(clock, channel.close());
    await Promise.all(sent);
    expect(await channel.exited).toMatchObject({ signal: "SIGTERM" });
  });
});

describe("spawnChannel, failures", () => {
  it("C92: tells how a server died, and what it said", async () => {
    const env = { API_KEY: "sk-123456" };
    const channel = open({ ...script("dies.mjs"), env });
    channel.send(request(1));
    expect(await next(channel)).toHaveLength(1);
    channel.send(request(2));
    await expect(next(channel)).rejects.toMatchObject({
      code: "connection-closed",
      message: expect.stringMatching(/^server ".*dies\.mjs" exited with code 3; stderr: out of cheese, key \*\*\*$/),
      data: { exitCode: 3, signal: null, stderr: "out of cheese, key ***\n" },
    });
    expect(channel.send(request(3))).toBeUndefined();
  });

  it("tells that a server never answered", async () => {
    const channel = open({ command: process.execPath, args: ["missing-script.js"] });
    await expect(next(channel)).rejects.toMatchObject({
      code: "connection-closed",
      message: expect.stringMatching(
        /missing-script\.js" exited with code 1 before answering; stderr: [\s\S]*Cannot find module/,
      ),
    });
  });

  it("tells that a server wrote something else than messages, and never answered", async () => {
    const channel = open({ command: process.execPath, args: ["-p", "'version 1'"] });
    expect(await next(channel)).toMatchObject([{ kind: "malformed" }]);
    await expect(next(channel)).rejects.toMatchObject({
      code: "connection-closed",
      message: expect.stringMatching(
        / exited with code 0 before answering; its stdout has lines that are not JSON-RPC; /,
      ),
    });
  });

  it("tells which signal killed a server", async () => {
    const channel = open(script("stubborn.mjs"));
    await next(channel);
    process.kill(channel.pid ?? Number.NaN, "SIGKILL");
    await expect(next(channel)).rejects.toMatchObject({
      message: expect.stringMatching(/ was killed by SIGKILL$/),
      data: { exitCode: null, signal: "SIGKILL", stderr: "" },
    });
  });

  it.each<[name: string, command: Command, reason: string]>([
    ["no such command", { command: "plugbay-no-such-command" }, "command not found: it is not in PATH"],
    ["not executable", { command: "/etc/passwd" }, "the file /etc/passwd is not executable"],
    ["a folder", { command: "/etc" }, "/etc is a directory"],
    ["no such folder", { ...script("echo.mjs"), cwd: "/no/such" }, 'working directory "/no/such" does not exist'],
    ["an impossible argument", { command: "echo", args: ["a\0b"] }, "ERR_INVALID_ARG_VALUE"],
  ])("tells why a server could not be started: %s", async (_name, command, reason) => {
    const channel = open(command);
    expect(channel.pid).toBeUndefined();
    expect(channel.send(request(1))).toBeUndefined();
    await expect(next(channel)).rejects.toMatchObject({
      code: "connection-closed",
      message: expect.stringMatching(/^cannot start ".*": /),
    });
    expect(await channel.exited).toMatchObject({ kind: "not-started", problem: { text: reason } });
    await channel.close();
  });

  it("ends a server that can no longer speak", async () => {
    const clock = createManualClock();
    const channel = open(script("mute.mjs"), { clock });
    await expect(settle(clock, next(channel))).rejects.toMatchObject({ code: "connection-closed" });
    expect(isRunning(channel.pid ?? 0)).toBe(false);
  });

  it("keeps the end of a long stderr, with whole characters", async () => {
    const channel = open(script("noisy.mjs"));
    await expect(next(channel)).rejects.toMatchObject({ code: "connection-closed" });
    const lines = channel.stderrTail().trimEnd().split("\n");
    expect(lines).toHaveLength(64);
    expect(lines.every((line) => /^\d+ 日本語 é{30}$/.test(line))).toBe(true);
    expect(lines.at(-1)).toMatch(/^99999 /);
  });

  it("passes stderr on", async () => {
    let text = "";
    const stderr = (part: string): void => {
      text += part;
    };
    const channel = open({ ...script("noisy.mjs"), stderr });
    await channel.exited;
    expect(text.split("\n")).toHaveLength(100_001);
    expect(text).not.toContain("\ufffd");
  });
});

describe("spawnChannel, ending", () => {
  it("C91: closes stdin, then sends SIGTERM, then SIGKILL", async () => {
    const clock = createManualClock();
    const channel = open(script("stubborn.mjs"), { clock });
    await next(channel);
    const closed = Promise.all([channel.close(), channel.close()]);
    await until(() => channel.stderrTail() === "EOF\n");
    await clock.advanceAsync(1000);
    await until(() => channel.stderrTail() === "EOF\nSIGTERM\n");
    expect(isRunning(channel.pid ?? 0)).toBe(true);
    await settle(clock, closed);
    expect(await channel.exited).toMatchObject({ signal: "SIGKILL", stderr: "EOF\nSIGTERM\n" });
    expect(isRunning(channel.pid ?? 0)).toBe(false);
  });

  it("C91: ends what the server started", async () => {
    const clock = createManualClock();
    const channel = open(script("parent.mjs"), { clock });
    const pids = await readPids(channel);
    await settle(clock, channel.close());
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it("ends what a dead server left behind, and does not wait for it to let go of stdout", async () => {
    const clock = createManualClock();
    const channel = open(script("parent.mjs", "leave"), { clock });
    const pids = await readPids(channel);
    await expect(settle(clock, next(channel))).rejects.toMatchObject({ data: { exitCode: 0 } });
    await settle(clock, channel.close());
    expect(pids.filter(isRunning)).toEqual([]);
  });

  it("does not wait for a stray process that holds stdout", async () => {
    const clock = createManualClock();
    const channel = open(script("parent.mjs", "leave", "apart"), { clock });
    const pids = await readPids(channel);
    await expect(settle(clock, next(channel))).rejects.toMatchObject({ data: { exitCode: 0 } });
    for (const pid of pids) process.kill(pid, "SIGKILL");
  });

  it("leaves no server behind when this process exits", async () => {
    const { command, args } = typedScript("forgetful.mjs");
    const { stdout } = await promisify(execFile)(command, args);
    const pid = Number(stdout);
    expect(pid).toBeGreaterThan(0);
    await until(() => !isRunning(pid));
  });

  it("listens for the exit of this process only while there are servers, and once for all", async () => {
    const listeners = process.listenerCount("exit");
    const channels = [open(script("echo.mjs")), open(script("echo.mjs"))];
    expect(process.listenerCount("exit")).toBe(listeners + 1);
    await Promise.all(channels.map((channel) => channel.close()));
    expect(process.listenerCount("exit")).toBe(listeners);
  });
});

function open(command: Command, options?: SpawnOptions): ChildChannel {
  const channel = spawnChannel(command, options);
  opened.push(channel);
  return channel;
}

function request(id: number, params: Record<string, string> = {}, method = "echo"): Message {
  return { kind: "request", id, method, params };
}

async function next(channel: Channel): Promise<readonly Incoming[] | undefined> {
  const result = await channel.incoming[Symbol.asyncIterator]().next();
  return result.done ? undefined : result.value;
}

async function readPids(channel: Channel): Promise<readonly number[]> {
  const [message] = (await next(channel)) ?? [];
  return message?.kind === "notification" ? (message.params.pids as number[]) : [];
}

/** Lets time pass until something has happened. */
async function settle<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let settled = false;
  const done = (): void => {
    settled = true;
  };
  promise.then(done, done);
  while (!settled) await clock.advanceAsync(20);
  return promise;
}

function letter(id: number): string {
  return String.fromCharCode(97 + (id % 26));
}
