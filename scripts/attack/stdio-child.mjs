import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { initializeRequest, modernRequest, notification } from "./messages.mjs";

/** Bytes of stdout that are kept. */
const MAX_KEPT = 64 * 1024 * 1024;

/** A stdio server in a process of its own, and what it says. */
export function startChild([program, ...args]) {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  const checks = new Set();
  let rest = [];
  let size = 0;
  let last = 100;
  const told = () => {
    for (const check of checks) check();
  };

  const peer = {
    pid: child.pid,
    messages: [],
    /** Lines of stdout that are no JSON-RPC message. */
    strayLines: [],
    isGone: false,
    exit: undefined,
    nextId: () => ++last,
    /** Resolves when what was written has gone to the process, or cannot. */
    write: (bytes) =>
      new Promise((resolve) => {
        if (peer.isGone || !child.stdin.writable) return resolve();
        child.stdin.write(bytes, () => resolve());
      }),
    end: () => child.stdin.end(),
    pauseReading: () => child.stdout.pause(),
    resumeReading: () => child.stdout.resume(),
    find(fits, timeoutMs) {
      return new Promise((resolve) => {
        const done = (found) => {
          clearTimeout(timer);
          checks.delete(check);
          resolve(found);
        };
        const check = () => {
          const found = peer.messages.find(fits);
          if (found !== undefined || peer.isGone) done(found);
        };
        const timer = setTimeout(done, timeoutMs);
        checks.add(check);
        check();
      });
    },
    /** Resolves with how it ended, or undefined when it is still there after that time. */
    async ended(timeoutMs) {
      await peer.find(() => peer.isGone, timeoutMs);
      return peer.exit;
    },
    async stop() {
      if (peer.isGone) return;
      child.stdout.resume();
      child.stdin.end();
      if ((await peer.ended(2_000)) === undefined) child.kill("SIGKILL");
      await peer.ended(5_000);
    },
  };

  child.stdin.on("error", () => {});
  child.stderr.resume();
  child.on("error", (error) => gone({ code: error.code, signal: null }));
  child.on("exit", (code, signal) => gone({ code, signal }));
  child.stdout.on("data", (chunk) => {
    size += chunk.length;
    if (size > MAX_KEPT) return;
    const end = chunk.lastIndexOf(10);
    if (end < 0) return void rest.push(chunk);
    const text = Buffer.concat([...rest, chunk.subarray(0, end)]).toString("utf8");
    rest = [chunk.subarray(end + 1)];
    for (const line of text.split("\n")) note(line);
    told();
  });

  function note(line) {
    if (line.trim() === "") return;
    try {
      const value = JSON.parse(line);
      if (value?.jsonrpc === "2.0" || Array.isArray(value)) peer.messages.push(...[value].flat());
      else peer.strayLines.push(line);
    } catch {
      peer.strayLines.push(line);
    }
  }

  function gone(exit) {
    peer.isGone = true;
    peer.exit ??= exit;
    told();
  }
  return peer;
}

/** Opens a child in the newest era that it speaks. Undefined when it speaks none. */
export async function greet(child) {
  const id = child.nextId();
  void child.write(`${JSON.stringify(modernRequest("server/discover", {}, id))}\n`);
  const discovered = await child.find((message) => message.id === id, 10_000);
  if (Array.isArray(discovered?.result?.supportedVersions)) return "modern";
  return (await greetOlder(child)) ? "legacy" : undefined;
}

/** Whether a child took the handshake of older revisions. */
export async function greetOlder(child) {
  const id = child.nextId();
  void child.write(`${JSON.stringify(initializeRequest(id))}\n`);
  const opened = await child.find((message) => message.id === id, 10_000);
  if (opened?.result === undefined) return false;
  void child.write(`${JSON.stringify(notification("notifications/initialized"))}\n`);
  return true;
}

/** Starts the program of an HTTP server, and waits until its port answers. */
export async function startHttpServer([program, ...args], wire) {
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore"] });
  let exit;
  child.on("exit", (code, signal) => {
    exit = { code, signal };
  });
  child.on("error", (error) => {
    exit = { code: error.code, signal: null };
  });
  for (let attempt = 0; attempt < 400 && exit === undefined; attempt++) {
    const { socket, isClosed } = await wire.socket();
    socket.destroy();
    if (!isClosed) break;
    await pause(50);
  }
  if (exit !== undefined) throw new Error(`the server ended with code ${exit.code} before it listened`);
  return {
    pid: child.pid,
    get exit() {
      return exit;
    },
    async stop() {
      if (exit !== undefined) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
    },
  };
}
