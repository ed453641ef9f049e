import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/json/json.ts";
import { isRunning, until } from "../fixtures/children/processes.ts";
import { everything, script } from "./support/places.ts";
import { openRaw, type RawPeer, startRaw, textOfResult, type WireId } from "./support/raw-peer.ts";
import { start, textOf } from "./support/run.ts";

// Our server over stdio, and clients that do everything wrong. Whatever they
// do, they are told what was wrong, and the next call works.

const MiB = 1024 * 1024;

const request = (id: Json, method: string, params: Json = {}): JsonObject => ({ jsonrpc: "2.0", id, method, params });
const callOf = (id: Json, name: string, args: Json = {}): JsonObject =>
  request(id, "tools/call", { name, arguments: args });
const echoOf = (id: Json): JsonObject => callOf(id, "echo", { message: "hello" });
const line = (message: Json): string => `${JSON.stringify(message)}\n`;

/** Says that the connection still works. */
async function expectAlive(peer: RawPeer): Promise<void> {
  expect(await peer.call("echo", { message: "still there?" })).toBe("still there?");
}

describe("a client that opens a session again", () => {
  it("is served in the new one, as is another one behind the same pipe (I4)", async () => {
    const peer = await openRaw(everything);
    const clientInfo = { name: "another", version: "0" };
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    expect(await peer.request("initialize", hello)).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
    await expectAlive(peer);
    await peer.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    await expectAlive(peer);
  });
});

describe("what is no message", () => {
  let peer: RawPeer;
  beforeAll(async () => {
    peer = await openRaw(everything);
  });

  interface Fault {
    readonly what: string;
    readonly bytes: string | Uint8Array;
    readonly id?: WireId;
    readonly code: number;
    readonly message: string | RegExp;
  }

  /** A value nested this deep, in a request that would be fine without it. */
  const nested = (id: Json, depth: number): string =>
    line(callOf(id, "echo", { message: "hello", deep: null })).replace(
      "null",
      "[".repeat(depth - 3) + "]".repeat(depth - 3),
    );

  const faults: readonly Fault[] = [
    { what: "no JSON", bytes: "{oops\n", code: -32700, message: "parse error: not valid JSON" },
    { what: "two messages on a line", bytes: `{}{}\n`, code: -32700, message: "parse error: not valid JSON" },
    {
      what: "a line of 16 MiB and a byte",
      bytes: `${"x".repeat(16 * MiB + 1)}\n`,
      code: -32700,
      message: `parse error: line longer than ${16 * MiB} bytes`,
    },
    {
      what: "bytes that are no UTF-8",
      bytes: Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'),
        Buffer.of(0xff, 0xfe),
        Buffer.from('"}\n'),
      ]),
      code: -32700,
      message: "parse error: not valid UTF-8",
    },
    {
      what: "65 levels",
      bytes: nested("deep", 65),
      id: "deep",
      code: -32700,
      message: "parse error: nested deeper than 64 levels",
    },
    {
      what: "too many elements",
      bytes: line(callOf("wide", "echo", { message: "hello", wide: Array(262_145).fill(0) })),
      id: "wide",
      code: -32700,
      message: "parse error: more than 262144 values",
    },
    { what: "a number", bytes: "7\n", code: -32600, message: "a message must be an object" },
    { what: "null", bytes: "null\n", code: -32600, message: "a message must be an object" },
    { what: "an empty batch", bytes: "[]\n", code: -32600, message: "empty batch" },
    { what: "a batch", bytes: line([echoOf("b1"), echoOf("b2")]), code: -32600, message: "batches are not supported" },
    { what: "no method", bytes: line({ jsonrpc: "2.0", id: "m" }), id: "m", code: -32600, message: /"method" must/ },
    {
      what: "another JSON-RPC",
      bytes: line({ ...echoOf("v"), jsonrpc: "1.0" }),
      id: "v",
      code: -32600,
      message: /"jsonrpc"/,
    },
    {
      what: "params that are a list",
      bytes: line(request("p", "tools/call", [])),
      id: "p",
      code: -32602,
      message: /"params"/,
    },
    {
      what: "an unknown method",
      bytes: line(request("u", "tools/dance")),
      id: "u",
      code: -32601,
      message: "unknown method tools/dance",
    },
    {
      what: "a name that is a number",
      bytes: line(request("n", "tools/call", { name: 5 })),
      id: "n",
      code: -32602,
      message: /name/,
    },
    {
      what: "a uri that is a list",
      bytes: line(request("r", "resources/read", { uri: [] })),
      id: "r",
      code: -32602,
      message: /uri/,
    },
    {
      what: "a second greeting without a revision",
      bytes: line(request("i", "initialize")),
      id: "i",
      code: -32602,
      message: /protocolVersion/,
    },
    ...[null, 1.5, true, {}, [], 2 ** 53].map((id) => ({
      what: `the id ${JSON.stringify(id)}`,
      bytes: line(echoOf(id)),
      code: -32600,
      message: '"id" must be a string or an integer',
    })),
  ];

  it.each(faults)("$what", async ({ bytes, id = null, code, message }) => {
    await peer.write(bytes);
    const { error } = await peer.answer(id);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    await expectAlive(peer);
  });

  it("is nothing else: 64 levels and 16 MiB are fine", async () => {
    await peer.write(nested("deep", 64));
    expect(textOfResult(await peer.answer("deep"))).toBe("hello");
    const message = "x".repeat(16 * MiB - line(callOf("long", "echo", { message: "" })).length + 1);
    await peer.send(callOf("long", "echo", { message }));
    expect(textOfResult(await peer.answer("long"))).toHaveLength(message.length);
  });
});

describe("what is odd but right", () => {
  let peer: RawPeer;
  beforeAll(async () => {
    peer = await openRaw(everything);
  });

  it.each<WireId>(["a", "", "1", "ü 😀", 1, 0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])(
    "the id %j",
    async (id) => {
      await peer.send(echoOf(id));
      expect(textOfResult(await peer.answer(id))).toBe("hello");
    },
  );

  it("messages that come byte by byte", async () => {
    for (const byte of Buffer.from(line(callOf("bytes", "echo", { message: "grüße 日本 😀" })))) {
      await peer.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    expect(textOfResult(await peer.answer("bytes"))).toBe("grüße 日本 😀");
  });

  it("line ends of Windows, blank lines, and blanks around a message", async () => {
    await peer.write(`\n\r\n\n${JSON.stringify(echoOf("crlf"))}\r\n\r\n   ${JSON.stringify(echoOf("blanks"))}\t\n`);
    expect(textOfResult(await peer.answer("crlf"))).toBe("hello");
    expect(textOfResult(await peer.answer("blanks"))).toBe("hello");
  });

  it("keys that would change prototypes elsewhere", async () => {
    const evil = '{"__proto__":{"message":"polluted"},"constructor":{"prototype":{"message":"polluted"}}}';
    await peer.write(
      `{"jsonrpc":"2.0","id":"evil","method":"tools/call","params":{"name":"echo","arguments":${evil}}}\n`,
    );
    expect((await peer.answer("evil")).result).toMatchObject({ isError: true });
    expect((await peer.request("tools/call", { name: "echo", arguments: {} })).result).toMatchObject({ isError: true });
    await peer.write('{"jsonrpc":"2.0","id":"tool","method":"tools/call","params":{"name":"__proto__"}}\n');
    expect((await peer.answer("tool")).error).toMatchObject({ code: -32602, message: "unknown tool __proto__" });
    expect(await peer.request("constructor")).toMatchObject({ error: { code: -32601 } });
    await expectAlive(peer);
  });

  it("answers that nobody asked for, and cancellations of nothing", async () => {
    const { length } = peer.heard.items;
    await peer.send({ jsonrpc: "2.0", id: 4711, result: {} });
    await peer.send({ jsonrpc: "2.0", id: 1e300, result: {} });
    await peer.send({ jsonrpc: "2.0", id: "x", error: { code: 1, message: "no" } });
    await peer.send({ jsonrpc: "2.0", id: null, error: { code: "one" } });
    await peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 4711 } });
    await peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: {} } });
    await peer.send({ jsonrpc: "2.0", method: "notifications/unheard-of", params: { a: 1 } });
    await peer.send({ jsonrpc: "2.0", method: "notifications/unheard-of", params: [] });
    await expectAlive(peer);
    expect(peer.heard.items).toHaveLength(length + 1);
  });

  it("an id in use: the second request is refused, the first answered", async () => {
    await peer.write(line(callOf(7, "slow", { ms: 50 })) + line(echoOf(7)));
    expect((await peer.answer(7)).error).toEqual({ code: -32600, message: "request id 7 is in use" });
    expect(textOfResult(await peer.answer(7))).toBe("done after 50 ms");
  });

  it("ids that differ only in type", async () => {
    await peer.send(callOf(8, "slow", { ms: 50 }));
    await peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "8" } });
    expect(textOfResult(await peer.answer(8))).toBe("done after 50 ms");
  });

  it("a batch, in the one revision that has them", async () => {
    const old = await openRaw(everything, "2025-03-26");
    await old.send([echoOf("one"), { jsonrpc: "2.0", method: "notifications/unheard-of" }, echoOf("two"), 7]);
    expect(textOfResult(await old.answer("one"))).toBe("hello");
    expect(textOfResult(await old.answer("two"))).toBe("hello");
    expect((await old.answer(null)).error).toMatchObject({ code: -32600 });
    await expectAlive(old);
  });
});

describe("without a greeting", () => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  let peer: RawPeer;
  beforeAll(async () => {
    peer = await startRaw(everything);
  });

  it("who says nothing of himself is told to begin", async () => {
    expect((await peer.request("tools/list")).error).toMatchObject({
      code: -32600,
      message: expect.stringMatching(/^not initialized: send initialize first/),
    });
    expect((await peer.request("ping")).result).toEqual({});
  });

  it.each<[what: string, meta: JsonObject, error: JsonObject]>([
    [
      "an unknown revision",
      { ...meta, "io.modelcontextprotocol/protocolVersion": "v999" },
      { code: -32022, data: { requested: "v999" } },
    ],
    ["no revision", without(meta, "io.modelcontextprotocol/protocolVersion"), { code: -32602 }],
    ["no capabilities", without(meta, "io.modelcontextprotocol/clientCapabilities"), { code: -32602 }],
  ])("who says %s is told what is missing", async (_what, _meta, error) => {
    expect(await peer.request("tools/list", { _meta })).toMatchObject({ error });
  });

  it.each(["initialize", "ping", "logging/setLevel", "resources/subscribe", "tools/dance"])(
    "a modern client has no %s",
    async (method) => {
      expect(await peer.request(method, { _meta: meta })).toMatchObject({ error: { code: -32601 } });
    },
  );

  it("a modern client needs the capability a tool asks for", async () => {
    const answer = await peer.request("tools/call", { _meta: meta, name: "test_missing_capability" });
    expect(answer).toMatchObject({ error: { code: -32021, data: { requiredCapabilities: { sampling: {} } } } });
  });

  it("a modern client is served, and told of a missing resource by invalid params", async () => {
    const call = { _meta: meta, name: "echo", arguments: { message: "hello" } };
    expect(textOfResult(await peer.request("tools/call", call))).toBe("hello");
    const uri = "test://nothing";
    expect(await peer.request("resources/read", { _meta: meta, uri })).toMatchObject({
      error: { code: -32602, data: { uri } },
    });
  });
});

function without(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key)) as JsonObject;
}

describe("in numbers", () => {
  it("gives each of 10,000 cancelled calls one answer at most, and keeps none of them", async () => {
    const peer = await openRaw(everything);
    const before = peer.heard.items.length;
    const pairs = Array.from({ length: 10_000 }, (_, id) => {
      const call = id % 2 === 0 ? echoOf(id) : callOf(id, "slow", { ms: 60_000 });
      return line(call) + line({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    });
    for (const pair of pairs) await peer.write(pair);
    while ((await peer.call("inflight")) !== '{"running":0}');
    const ids = peer.heard.items.slice(before).flatMap(({ id }) => (typeof id === "number" ? [id] : []));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => id % 2 === 1)).toEqual([]);
  });

  it("takes 50,000 notifications, and answers what comes after them", async () => {
    const peer = await openRaw(everything);
    const notification = line({
      jsonrpc: "2.0",
      method: "notifications/unheard-of",
      params: { fill: "x".repeat(100) },
    });
    for (let hundreds = 0; hundreds < 500; hundreds++) await peer.write(notification.repeat(100));
    await expectAlive(peer);
  });

  it("never mixes answers of 1 MiB that are written at the same time", async () => {
    const peer = await openRaw(everything);
    const sizes = Array.from({ length: 64 }, (_, index) => MiB + index);
    await peer.write(sizes.map((bytes) => line(callOf(bytes, "big", { bytes }))).join(""));
    for (const bytes of sizes) expect(textOfResult(await peer.answer(bytes))).toHaveLength(bytes);
  });

  it("loses nothing when its answers are not read for a while", async () => {
    const [slow, quick] = await Promise.all([openRaw(everything), openRaw(everything)]);
    slow.child.stdout.pause();
    const ids = Array.from({ length: 16 }, (_, index) => index);
    const calls = ids.map((id) => line(callOf(id, "big", { bytes: MiB }))).join("");
    await slow.write(calls);
    // As long as another server takes to do the same and be read.
    await quick.write(calls);
    for (const id of ids) await quick.answer(id);
    expect(slow.heard.items).toHaveLength(1);
    slow.child.stdout.resume();
    for (const id of ids) expect(textOfResult(await slow.answer(id))).toHaveLength(MiB);
  });

  it.runIf(process.platform === "linux")(
    "does not grow when its answers are not read: it stops producing",
    async () => {
      const [slow, quick] = await Promise.all([openRaw(everything), openRaw(everything)]);
      const before = peakMemory(slow.pid);
      slow.child.stdout.pause();
      const ids = Array.from({ length: 800 }, (_, index) => index);
      const calls = ids.map((id) => line(callOf(id, "big", { bytes: MiB / 4 }))).join("");
      await slow.write(calls);
      await quick.write(calls);
      for (const id of ids) await quick.answer(id);
      expect(peakMemory(slow.pid) - before).toBeLessThan(150 * MiB);
      slow.child.stdout.resume();
      for (const id of ids) await slow.answer(id);
    },
    180_000,
  );

  it("finds out at once that a text of 50,000 characters does not have the form", async () => {
    const peer = await openRaw(everything);
    expect(await peer.call("patterned", { code: "ABC-1234", remark: "12x" })).toBe("code ABC-1234");
    const before = cpuSeconds(peer.pid);
    const code = await peer.request("tools/call", { name: "patterned", arguments: { code: "A".repeat(50_000) } });
    expect(code.result).toMatchObject({ isError: true });
    const args = { code: "ABC-1234", remark: "1".repeat(50_000) };
    const remark = await peer.request("tools/call", { name: "patterned", arguments: args });
    expect(remark.result).toMatchObject({ isError: true });
    expect(cpuSeconds(peer.pid) - before).toBeLessThan(0.75);
  });
});

/** The most memory a process has ever had, in bytes. */
function peakMemory(pid: number): number {
  const [, kilobytes = "0"] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

/** The processor time a process has used: what else runs on the machine does not count. 0 where nobody tells. */
function cpuSeconds(pid: number): number {
  if (process.platform !== "linux") return 0;
  const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
  return (Number(user) + Number(system)) / 100;
}

describe("a tool that misbehaves", () => {
  it("prints to stdout: the client does not see it, the log does", async () => {
    const peer = await openRaw(everything);
    expect(await peer.call("chatty")).toBe("Printed.");
    peer.child.stdin.end();
    await peer.ended;
    expect(peer.stderr()).toBe("printed by a tool\nwritten by a tool\n");
  });

  it("throws what nobody foresaw: the client is told a number, the log the rest", async () => {
    const peer = await openRaw(everything);
    const { result } = await peer.request("tools/call", { name: "boom" });
    const said = JSON.stringify(result);
    expect(said).toMatch(/internal error, id [\w-]+/);
    expect(said).not.toMatch(/secret|\/etc|boom|\.mjs/);
    const [, id = "?"] = /id ([\w-]+)/.exec(said) ?? [];
    await until(() => peer.stderr().includes("secret detail of /etc/boom"));
    expect(peer.stderr()).toContain(id);
    await expectAlive(peer);
  });

  it("fails after its call was cancelled: nobody minds", async () => {
    const peer = await openRaw(everything);
    await peer.send(callOf(1, "stubborn", { ms: 50 }));
    await peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    while ((await peer.call("inflight")) !== '{"running":0}');
    await expectAlive(peer);
    peer.child.stdin.end();
    expect(await peer.ended).toEqual({ code: 0, signal: null });
    expect(peer.heard.items.filter(({ id }) => id === 1)).toEqual([]);
  });

  it("is not one that stops when it is told to: the log does not speak of it", async () => {
    const peer = await openRaw(everything);
    await peer.send(callOf(1, "slow", { ms: 20_000 }));
    while ((await peer.call("inflight")) !== '{"running":1}');
    await peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } });
    while ((await peer.call("inflight")) !== '{"running":0}');
    peer.child.stdin.end();
    await peer.ended;
    expect(peer.stderr()).toBe("");
  });
});

describe.concurrent("the end", () => {
  it("comes after the answers when the input ends", async ({ expect }) => {
    const peer = await openRaw(everything);
    const calls = [...Array(20).keys()].map((id) =>
      callOf(id, id % 2 === 0 ? "echo" : "slow", { message: "hello", ms: 100 }),
    );
    peer.child.stdin.end(calls.map(line).join(""));
    expect(await peer.ended).toEqual({ code: 0, signal: null });
    const ids = peer.heard.items.flatMap(({ id, result }) => (typeof id === "number" && result ? [id] : []));
    expect(ids.toSorted((a, b) => a - b)).toEqual([...calls.keys()]);
  });

  it("comes at once when the input ends before it began", async ({ expect }) => {
    const peer = await startRaw(everything);
    peer.child.stdin.end();
    expect(await peer.ended).toEqual({ code: 0, signal: null });
    expect(peer.heard.items).toEqual([]);
  });

  it.for(["SIGTERM", "SIGINT"] as const)("comes after the answers at %s", async (signal, { expect }) => {
    const peer = await openRaw(script("test/fixtures/children/holding-server.mjs"));
    for (let id = 0; id < 10; id++) await peer.send(callOf(id, "hold"));
    await until(() => peer.stderr() === "holding\n".repeat(10));
    peer.child.kill(signal);
    await until(() => peer.stderr().endsWith("told\n"));
    peer.child.kill("SIGUSR2");
    expect(await peer.ended).toEqual({ code: 0, signal: null });
    for (let id = 0; id < 10; id++) expect(textOfResult(await peer.answer(id))).toBe("held");
  });

  it("does not wait for ever: calls that take too long are answered with an error", async ({ expect }) => {
    const peer = await openRaw(everything);
    for (let id = 0; id < 10; id++) await peer.send(callOf(id, "slow", { ms: 25_000, steps: 1 }));
    while ((await peer.call("inflight")) !== '{"running":10}');
    peer.child.kill("SIGTERM");
    expect(await peer.ended).toEqual({ code: 0, signal: null });
    for (let id = 0; id < 10; id++) expect(await peer.answer(id)).toHaveProperty("error");
  });

  it("comes when nobody reads any more", async ({ expect }) => {
    const peer = await openRaw(everything);
    peer.child.stdout.destroy();
    await peer.send(callOf(1, "big", { bytes: MiB }));
    expect(await peer.ended).toMatchObject({ code: 0 });
  });

  it("comes with the death of the parent, though somebody else holds the input", async ({ expect, onTestFinished }) => {
    const holder = await start({ command: process.execPath, args: ["-e", "process.stdin.pipe(process.stdout)"] });
    const { command, args } = script("test/fixtures/children/launcher.mjs", everything.command, ...everything.args);
    const launcher = spawn(command, args, { stdio: [holder.child.stdout, "pipe", "pipe"] });
    onTestFinished(() => void launcher.kill("SIGKILL"));
    const { stdout, stderr } = launcher;
    if (stdout === null || stderr === null) throw new Error("there are no pipes");
    const said = textOf(stderr);
    holder.child.stdin.write(line(request(1, "ping")));
    await once(stdout, "data");
    await until(() => /launched \d+\n/.test(said()));
    const pid = Number(/launched (\d+)/.exec(said())?.[1]);
    expect(isRunning(pid)).toBe(true);
    launcher.kill("SIGUSR2");
    await until(() => !isRunning(pid));
    expect(isRunning(holder.pid)).toBe(true);
  });
});
