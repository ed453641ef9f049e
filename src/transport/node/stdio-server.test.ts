import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { PassThrough, type Readable, Writable } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { isRunning, script, typedScript, until } from "../../../test/fixtures/children/processes.ts";
import type { Message } from "../../jsonrpc/message.ts";
import { openStdio } from "./serve-stdio.ts";

const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

describe("openStdio, streams", () => {
  it("sends what others print to stderr until it is closed", async () => {
    const { stdout, stderr, options } = streams();
    const channel = openStdio(options);
    const done = new Promise((resolve) => stdout.write("stray\n", resolve));
    expect(stdout.write("c3RyYXkK", "base64")).toBe(true);
    channel.send(pong);
    await done;
    await channel.close();
    stdout.write("free\n");
    expect(stdout.read().toString()).toBe(`${pongLine}free\n`);
    expect(stderr.read().toString()).toBe("stray\nstray\n");
  });

  it("does not end the stream it was lent", async () => {
    const { stdout, options } = streams();
    await openStdio(options).close();
    expect(stdout.writableEnded).toBe(false);
    expect(stdout.listenerCount("error")).toBe(0);
  });

  it("waits with closing until everything is written", async () => {
    const { options } = streams();
    let written = "";
    const slow = new Writable({
      write(chunk, _encoding, done) {
        written += chunk;
        setImmediate(done);
      },
    });
    const channel = openStdio({ ...options, stdout: slow });
    for (let count = 0; count < 3; count++) {
      channel.send(pong);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all([channel.close(), channel.close()]);
    expect(written).toBe(pongLine.repeat(3));
  });

  it("ends when stdout breaks, for nobody hears the answers", async () => {
    const { options } = streams();
    const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error("write EPIPE")) });
    const channel = openStdio({ ...options, stdout: broken });
    channel.send(pong);
    for await (const _batch of channel.incoming);
    await channel.close();
  });

  it("installs no signal handlers unless told", async () => {
    const listeners = (): number => process.listenerCount("SIGTERM") + process.listenerCount("SIGINT");
    const before = listeners();
    const plain = openStdio(streams().options);
    expect(listeners()).toBe(before);
    const handling = openStdio({ ...streams().options, signals: true });
    expect(listeners()).toBe(before + 2);
    await Promise.all([plain.close(), handling.close()]);
    expect(listeners()).toBe(before);
  });
});

describe("openStdio, process", () => {
  it("C90, C94: keeps stdout clean whatever the server prints, and ends with stdin after answering", async () => {
    const server = start();
    server.request(1, "echo");
    server.request(2, "slow");
    server.child.stdin?.end();
    expect(await server.exit()).toEqual([0, null]);
    expect(server.stdout().split("\n")).toEqual([answer(1), answer(2), "stdout is free again", ""]);
    for (const stray of ["log", "info", "debug", "table", "write", "bytes", "callback", "in echo", "in slow"]) {
      expect(server.stderr()).toContain(`stray ${stray}`);
    }
  });

  it.each(["SIGTERM", "SIGINT"] as const)("answers what is under way at %s, and exits", async (signal) => {
    const server = start("signals", "patient");
    server.request(1, "slow");
    await until(() => server.stderr().includes("stray in slow"));
    server.child.kill(signal);
    expect(await server.exit()).toEqual([0, null]);
    expect(server.stdout().split("\n")).toEqual([answer(1), "stdout is free again", ""]);
  });

  it("exits after a signal even if something keeps the process alive", async () => {
    const server = start("signals", "linger", "patient", "brisk");
    server.request(1, "echo");
    await until(() => server.stdout().includes(answer(1)));
    server.child.kill("SIGTERM");
    expect(await server.exit()).toEqual([0, null]);
  });

  it("sends what was sent before the process exits", async () => {
    const server = start();
    server.request(1, "quit");
    expect(await server.exit()).toEqual([5, null]);
    expect(server.stdout()).toBe(`${answer(1)}\n`);
  });

  it("exits at once at a second signal, with the code of that signal", async () => {
    const server = start("signals", "patient");
    server.request(1, "hang");
    await until(() => server.stderr().includes("stray in hang"));
    server.child.kill("SIGTERM");
    await until(() => server.stderr().includes("draining"));
    server.child.kill("SIGINT");
    expect(await server.exit()).toEqual([130, null]);
  });

  it("does not wait for ever for an answer after a signal", async () => {
    const server = start("signals", "brisk");
    server.request(1, "hang");
    await until(() => server.stderr().includes("stray in hang"));
    server.child.kill("SIGTERM");
    expect(await server.exit()).toEqual([143, null]);
  });

  it("leaves signals alone unless told", async () => {
    const server = start();
    server.request(1, "hang");
    await until(() => server.stderr().includes("stray in hang"));
    server.child.kill("SIGTERM");
    expect(await server.exit()).toEqual([null, "SIGTERM"]);
  });

  it("loses nothing of a large answer when the reader is slow and stdin has ended", async () => {
    const server = start();
    server.child.stdout?.pause();
    server.request(1, "big", { fill: "x" });
    server.child.stdin?.end();
    await until(() => server.stderr().includes("draining"));
    server.child.stdout?.resume();
    expect(await server.exit()).toEqual([0, null]);
    expect(server.stdout().length).toBeGreaterThan(1_048_576);
  });

  it("ends with its parent, even if somebody else keeps stdin open", async () => {
    // Node closes a pipe of its own to a child that has ended.
    const holder = spawn(process.execPath, ["-e", "process.stdin.pipe(process.stdout)"], { stdio: "pipe" });
    started.push(holder);
    const { command, args } = typedScript("stdio-server.mjs", "brisk");
    const launcher = run(script("launcher.mjs", command, ...args), holder.stdout);
    holder.stdin.write('{"jsonrpc":"2.0","id":1,"method":"echo","params":{}}\n');
    await until(() => launcher.stdout().includes(answer(1)) && /launched \d+\n/.test(launcher.stderr()));
    const pid = Number(/launched (\d+)/.exec(launcher.stderr())?.[1]);
    expect(isRunning(pid)).toBe(true);
    launcher.child.kill("SIGUSR2");
    await until(() => !isRunning(pid));
    expect(isRunning(holder.pid ?? 0)).toBe(true);
    await launcher.exit();
    expect(launcher.stdout()).toContain("stdout is free again");
  });
});

const pong: Message = { kind: "success", id: 1, result: {} };
const pongLine = '{"jsonrpc":"2.0","id":1,"result":{}}\n';

function streams() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  return { stdin, stdout, stderr, options: { stdin, stdout, stderr } };
}

function answer(id: number): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{}}`;
}

function start(...flags: readonly string[]): Running {
  return run(typedScript("stdio-server.mjs", ...flags));
}

interface Running {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  request(id: number, method: string, params?: object): void;
  /** The exit code and the signal, once all output has arrived. */
  exit(): Promise<unknown[]>;
}

function run({ command, args }: { command: string; args: readonly string[] }, stdin?: Readable): Running {
  const child = spawn(command, args, { stdio: [stdin ?? "pipe", "pipe", "pipe"] });
  started.push(child);
  const closed = once(child, "close");
  let [out, err] = ["", ""];
  child.stdout?.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    err += chunk;
  });
  return {
    child,
    stdout: () => out,
    stderr: () => err,
    request: (id, method, params = {}) =>
      child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`),
    exit: () => closed,
  };
}
