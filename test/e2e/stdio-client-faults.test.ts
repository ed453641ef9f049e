import { afterAll, describe, it } from "vitest";
import type { Client, ConnectOptions } from "../../src/connect/index.ts";
import type { Command } from "../../src/transport/command.ts";
import { script as child, isRunning, until } from "../fixtures/children/processes.ts";
import { connect, McpError } from "./support/built.ts";
import { createLog } from "./support/events.ts";
import { everything, script } from "./support/places.ts";
import { start, textOf } from "./support/run.ts";

// Our client, and servers that do everything wrong. Whatever they do, the call
// ends, the error says why, and no process is left.

const token = "token-4711-abcdef";

interface Hostile {
  readonly command: Command;
  /** The number of the server, or of the child it starts. NaN until it has said it, which its answers may overtake. */
  pid(of?: "pid" | "child"): number;
}

/** The hostile server, as a command that tells the numbers of its processes. */
function hostile(...manner: readonly string[]): Hostile {
  let said = "";
  const stderr = (text: string): void => {
    said += text;
  };
  const pid: Hostile["pid"] = (of = "pid") => Number(new RegExp(`^${of} (\\d+)$`, "m").exec(said)?.[1]);
  const program = script("test/fixtures/hostile-server.mjs", ...manner);
  const server = { command: { ...program, env: { VAULT_TOKEN: token }, stderr }, pid };
  started.push(server);
  return server;
}

const started: Hostile[] = [];

afterAll(() => {
  for (const pid of started.flatMap((server) => [server.pid(), server.pid("child")])) {
    if (isRunning(pid)) process.kill(pid, "SIGKILL");
  }
});

function open({ command }: Hostile, options?: ConnectOptions): Promise<Client> {
  return connect(command, options);
}

/** What a promise is rejected with. */
async function failureOf(promise: Promise<unknown>): Promise<InstanceType<typeof McpError>> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof McpError) return error;
  throw new Error("there was no McpError", { cause: error });
}

const texts = (text: string) => ({ content: [{ type: "text", text }] });

describe.concurrent("a server that dies", () => {
  it("in the middle of a call: the error says how, and what it said last, without secrets", async ({ expect }) => {
    const server = hostile();
    await using client = await open(server);
    const error = await failureOf(client.callTool("exit"));
    expect(error).toMatchObject({ code: "connection-closed", data: { exitCode: 3, signal: null } });
    expect(error.message).toMatch(/hostile-server\.mjs.* exited with code 3; stderr: (.|\n)*out of cheese/);
    expect(JSON.stringify([error.message, error.data])).not.toContain(token);
    expect(await client.closed).toMatchObject({ code: "connection-closed" });
    expect(await failureOf(client.callTool("fine"))).toMatchObject({ code: "connection-closed" });
    expect(isRunning(server.pid())).toBe(false);
  });

  it("in the middle of a line", async ({ expect }) => {
    await using client = await open(hostile());
    const error = await failureOf(client.callTool("half-a-line"));
    expect(error).toMatchObject({ code: "connection-closed", data: { exitCode: 0 } });
  });

  it("with many calls open: all of them end", async ({ expect }) => {
    await using client = await open(hostile());
    const silent = Array.from({ length: 50 }, () => failureOf(client.callTool("silence")));
    await failureOf(client.callTool("exit"));
    expect(new Set((await Promise.all(silent)).map(({ code }) => code))).toEqual(new Set(["connection-closed"]));
  });

  it("before it has said anything", async ({ expect }) => {
    const server = hostile("broken");
    const error = await failureOf(connect(server.command));
    expect(error).toMatchObject({ code: "connection-closed", data: { exitCode: 4 } });
    expect(error.message).toMatch(/exited with code 4 before answering; stderr: (.|\n)*cannot open the vault/);
    expect(JSON.stringify([error.message, error.data])).not.toContain(token);
  });

  it("by a signal", async ({ expect }) => {
    const server = hostile();
    await using client = await open(server);
    const pending = failureOf(client.callTool("silence"));
    await until(() => server.pid() > 0);
    process.kill(server.pid(), "SIGKILL");
    expect(await pending).toMatchObject({ code: "connection-closed", data: { exitCode: null, signal: "SIGKILL" } });
  });

  it("without ever having lived", async ({ expect }) => {
    const error = await failureOf(connect({ command: "no-such-program-4711", args: ["--api-key", token] }));
    expect(error).toMatchObject({ code: "connection-closed" });
    expect(error.message).toBe(
      'cannot start "no-such-program-4711 --api-key ***": command not found: it is not in PATH',
    );
    const nowhere = await failureOf(connect({ ...everything, cwd: "/no/such/directory" }));
    expect(nowhere.message).toMatch('working directory "/no/such/directory" does not exist');
  });
});

describe.concurrent("a server that talks nonsense", () => {
  it.for<[tool: string, said: string]>([
    ["garbage", "after the garbage"],
    ["strays", "after the strays"],
    ["twice", "first"],
  ])("%s", async ([tool, said], { expect }) => {
    await using client = await open(hostile());
    expect(await client.callTool(tool)).toEqual(texts(said));
    expect(await client.callTool("fine")).toEqual(texts("fine"));
  });

  it("a response with both a result and an error: the call fails at once (B6, H19)", async ({ expect }) => {
    await using client = await open(hostile());
    expect(await failureOf(client.callTool("both", {}, { timeoutMs: 0, maxTotalMs: 0 }))).toMatchObject({
      code: "invalid-response",
      message: expect.stringContaining(
        'the response to tools/call is malformed: "result" and "error" exclude each other',
      ),
    });
    expect(await client.callTool("fine")).toEqual(texts("fine"));
  });

  it("a flood of notifications: all are heard, and the call is answered", async ({ expect }) => {
    const heard: unknown[] = [];
    await using client = await open(hostile(), { onNotification: ({ params }) => heard.push(params.number) });
    expect(await client.callTool("flood")).toEqual(texts("after the flood"));
    expect(heard).toEqual(Array.from({ length: 50_000 }, (_, index) => index + 1));
  });

  it("a line longer than any: that call fails, the others do not", async ({ expect }) => {
    await using client = await open(hostile());
    const long = failureOf(client.callTool("long-line", {}, { timeoutMs: 2_000 }));
    expect(await client.callTool("fine")).toEqual(texts("fine"));
    expect(await long).toMatchObject({ code: "timeout" });
    expect(await client.callTool("fine")).toEqual(texts("fine"));
  });

  it("tools and results that are not what they must be", async ({ expect }) => {
    const warnings = createLog<string>();
    await using client = await open(hostile(), { onWarning: ({ kind }) => warnings.add(kind) });
    const names = (await client.listTools()).map(({ name }) => name);
    expect(names).toContain("fine");
    expect(names).not.toContain("malformed");
    expect(await failureOf(client.callTool("bad-output"))).toMatchObject({ code: "invalid-response" });
    // Would take longer than the world exists if the pattern of the server were used.
    expect(await client.callTool("slow-pattern")).toHaveProperty("structuredContent");
    expect(warnings.items).toEqual(["tool-left-out", "output-unchecked"]);
  });
});

describe("a server of 2026-07-28 that sends requests", () => {
  it("gets no response, and the client is warned (B2)", async ({ expect }) => {
    const warnings: string[] = [];
    const server = child("asking-server.mjs");
    await using client = await connect(server, { roots: [], onWarning: ({ message }) => warnings.push(message) });
    await client.callTool("ask");
    const methods = ["server/discover", "tools/call", "tools/call"];
    expect(await client.callTool("heard")).toMatchObject(texts(JSON.stringify(methods)));
    expect(warnings.map((message) => /a request, ([^,]*), /.exec(message)?.[1])).toEqual([
      "ping",
      "ping",
      "roots/list",
    ]);
  });
});

describe.concurrent("a server that says nothing", () => {
  it("is told that nobody waits any more", async ({ expect }) => {
    await using client = await open(hostile());
    const late = failureOf(client.callTool("silence", {}, { timeoutMs: 50 }));
    expect(await late).toMatchObject({ code: "timeout", message: expect.stringContaining("50 ms") });
    const abort = new AbortController();
    const unwanted = failureOf(client.callTool("silence", {}, { signal: abort.signal }));
    abort.abort("changed my mind");
    expect(await unwanted).toMatchObject({ code: "cancelled", cause: "changed my mind" });
    const { content } = await client.callTool("cancelled");
    const told = JSON.parse((content[0] as { text: string }).text);
    expect(told).toMatchObject([{ requestId: expect.anything() }, { requestId: expect.anything() }]);
    expect(new Set(told.map(({ requestId }: { requestId: unknown }) => requestId)).size).toBe(2);
  });

  it("at all: connecting fails in time, and it is ended", async ({ expect }) => {
    const server = hostile("silent");
    const error = await failureOf(connect(server.command, { probeMs: 100, connectTimeoutMs: 200 }));
    expect(error).toMatchObject({ code: "timeout" });
    await until(() => !isRunning(server.pid()));
  });

  it("at all: connecting can be given up", async ({ expect }) => {
    const server = hostile("silent");
    const abort = new AbortController();
    const attempt = failureOf(connect(server.command, { signal: abort.signal }));
    await until(() => isRunning(server.pid()));
    abort.abort();
    expect(await attempt).toMatchObject({ code: "cancelled" });
    expect(isRunning(server.pid())).toBe(false);
  });
});

describe.concurrent("closing", () => {
  it("ends calls that are open, once and for all", async ({ expect }) => {
    const server = hostile();
    await using client = await open(server);
    const pending = failureOf(client.callTool("silence"));
    await Promise.all([client.close(), client.close()]);
    await client.close();
    expect(await pending).toMatchObject({ code: "connection-closed" });
    expect(await client.closed).toBeUndefined();
    expect(await failureOf(client.callTool("fine"))).toMatchObject({ code: "connection-closed" });
    expect(isRunning(server.pid())).toBe(false);
  });

  it("ends a server that does not want to end", async ({ expect }) => {
    const server = hostile("stubborn");
    await using client = await open(server);
    await client.close();
    expect(isRunning(server.pid())).toBe(false);
  });

  it("ends what the server started, too", async ({ expect }) => {
    const server = hostile("sprawling");
    await using client = await open(server);
    await until(() => server.pid("child") > 0);
    expect(isRunning(server.pid("child"))).toBe(true);
    await client.close();
    expect([server.pid(), server.pid("child")].filter(isRunning)).toEqual([]);
  });

  it("is not needed for that when the server dies by itself", async ({ expect }) => {
    const server = hostile("sprawling");
    await using client = await open(server);
    expect(await failureOf(client.callTool("exit"))).toMatchObject({ data: { exitCode: 3 } });
    await until(() => !isRunning(server.pid("child")));
  });
});

describe.concurrent("a server with a tool that is nested too deep", () => {
  it("has its other tools, and a warning names the one that is left out (B8)", async ({ expect }) => {
    const schema = `{"type":"object","a":${'{"a":'.repeat(99)}1${"}".repeat(99)}}`;
    const results = {
      initialize: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"deep","version":"1"}}`,
      "tools/list": `{"tools":[{"name":"deep","inputSchema":${schema}},{"name":"flat","inputSchema":{"type":"object"}}]}`,
    };
    const program = `
      const results = ${JSON.stringify(results)};
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const said = results[method] ? '"result":' + results[method] : '"error":{"code":-32601,"message":"unknown method"}';
        if (id !== undefined) console.log('{"jsonrpc":"2.0","id":' + id + "," + said + "}");
      });`;
    const warnings: string[] = [];
    const onWarning: ConnectOptions["onWarning"] = ({ message }) => void warnings.push(message);
    await using client = await connect({ command: process.execPath, args: ["-e", program] }, { onWarning });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["flat"]);
    expect(warnings).toEqual([
      'tool "deep" is left out: nested deeper than 64 levels (maxJsonDepth); raise it in limits of connect if you trust the server',
    ]);
  });
});

describe.concurrent("a client that dies", () => {
  it.for(["SIGKILL", "SIGTERM", "SIGINT"] as const)("of %s leaves no server behind", async (signal, { expect }) => {
    const host = await start(script("test/fixtures/host.mjs"));
    const said = textOf(host.child.stdout);
    await until(() => said().endsWith("\n"));
    const pid = Number(said());
    expect(isRunning(pid)).toBe(true);
    host.child.kill(signal);
    await host.ended;
    await until(() => !isRunning(pid));
  });
});
