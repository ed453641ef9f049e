import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, type ConnectOptions, connect, type LogEntry } from "../../src/connect/index.ts";
import { discovered, welcome } from "../support/connected.ts";
import { createLog } from "./support/events.ts";
import { installed, type Program, root, script } from "./support/places.ts";
import { run, start } from "./support/run.ts";

// Our client over sockets: against servers of others, and against servers that misbehave.

/** A user and a model that answer everything. */
const helpful: ConnectOptions = {
  onElicit: ({ message }) => (message.includes("color") ? { color: "red" } : { name: "Ada" }),
  onSample: ({ maxTokens, messages }) => ({
    model: "parrot",
    role: "assistant",
    content: { type: "text", text: `${messages.length} message, ${maxTokens} tokens` },
  }),
  roots: [{ uri: "file:///home", name: "Home" }],
};

const texts = (text: string) => ({ content: [{ type: "text", text }] });

async function call(client: Client, name: string, args = {}): Promise<string> {
  const { content } = await client.callTool(name, args);
  return content.map((block) => ("text" in block ? block.text : "")).join("");
}

async function next<T>(source: AsyncIterable<T>): Promise<T> {
  for await (const item of source) return item;
  throw new Error("there was nothing");
}

/** Starts a server and gives where it listens, as soon as it does. It is ended with the tests of this file. */
async function listening(program: Program, path: string): Promise<string> {
  const { child } = await start(program);
  for await (const line of createInterface(child.stderr)) {
    const origin = /listening on (http:\S+)/.exec(line)?.[1];
    if (origin !== undefined) return `${origin}${path}`;
  }
  throw new Error("the server does not listen");
}

const v1 = script("test/fixtures/official-v1-server.mjs", "--port", "0");
const v2 = script("test/fixtures/official-v2-server.mjs", "--port", "0");

/** What a server cannot do that lives for one request, or has no stream to speak up on. */
type Lack = "asks" | "changes" | "stops";

const servers: readonly {
  readonly name: string;
  readonly program: Program;
  readonly path: string;
  readonly revision: string;
  readonly options?: ConnectOptions;
  readonly lacks?: readonly Lack[];
}[] = [
  { name: "version 2, negotiated", program: v2, path: "/mcp", revision: "2026-07-28" },
  { name: "version 2, negotiated, by fetch", program: v2, path: "/mcp", revision: "2026-07-28", options: { fetch } },
  { name: "version 2 with sessions", program: v2, path: "/sessions", revision: "2025-11-25" },
  {
    name: "version 2 with sessions, by fetch",
    program: v2,
    path: "/sessions",
    revision: "2025-11-25",
    options: { fetch },
  },
  { name: "version 2 without streams", program: v2, path: "/json", revision: "2025-11-25", lacks: ["asks"] },
  { name: "version 1", program: v1, path: "/mcp", revision: "2025-11-25" },
  {
    name: "version 1 without sessions",
    program: v1,
    path: "/stateless",
    revision: "2025-11-25",
    lacks: ["asks", "changes", "stops"],
  },
  { name: "version 1 over HTTP+SSE", program: v1, path: "/sse", revision: "2024-11-05", lacks: ["asks"] },
];

describe.each(servers)("the official server, $name", ({ program, path, revision, options = {}, lacks = [] }) => {
  const logged = createLog<LogEntry>();
  let client: Client;

  beforeAll(async () => {
    client = await connect(await listening(program, path), { ...helpful, ...options, onLog: logged.add });
  });
  afterAll(() => client.close());

  it("introduces itself", async () => {
    expect(client.revision).toBe(revision);
    expect(client.server.serverInfo).toMatchObject({ name: "official" });
    await client.ping();
  });

  it("lists what it has", async () => {
    expect((await client.listTools()).map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "greet"]));
    expect((await client.listResources()).map(({ uri }) => uri)).toContain("official://plain");
  });

  it("is called", async () => {
    expect(await client.callTool("echo", { message: "grüße 😀" })).toMatchObject(texts("grüße 😀"));
    expect(await client.callTool("fail")).toMatchObject({ ...texts("it did not work"), isError: true });
    const all = Array.from({ length: 50 }, (_, i) => client.callTool("echo", { message: `${i}` }));
    expect(await Promise.all(all)).toMatchObject(Array.from({ length: 50 }, (_, i) => texts(`${i}`)));
  });

  it.skipIf(path === "/json")("reports progress", async () => {
    const heard: unknown[] = [];
    await client.callTool("slow", { steps: 3 }, { onProgress: (progress) => heard.push(progress) });
    expect(heard).toMatchObject([1, 2, 3].map((progress) => ({ progress, total: 3 })));
  });

  it.skipIf(lacks.includes("asks"))("asks, and is answered", async () => {
    expect(await call(client, "greet")).toBe("Hello, Ada!");
    expect(await call(client, "think")).toBe("1 message, 10 tokens in file:///home");
  });

  it.skipIf(lacks.includes("changes"))("tells what changes", async () => {
    await using tools = client.changes({ tools: true });
    await tools.ready;
    expect(await call(client, "toggle")).toBe("added");
    expect(await next(tools)).toEqual({ kind: "tools" });
  });

  it.skipIf(lacks.includes("stops"))("stops a call that nobody wants any more", async () => {
    const abort = new AbortController();
    const slow = client.callTool("slow", { steps: 1000 }, { signal: abort.signal });
    slow.catch(() => {});
    while ((await call(client, "running")) !== "1");
    abort.abort("enough");
    await expect(slow).rejects.toMatchObject({ code: "cancelled", cause: "enough" });
    while ((await call(client, "running")) !== "0");
  });

  it("is left", async () => {
    await client.close();
    expect(await client.closed).toBeUndefined();
  });
});

describe.each([
  { mode: "streamableHttp", path: "/mcp", revision: "2025-11-25" },
  { mode: "sse", path: "/sse", revision: "2024-11-05" },
] as const)("the official server with everything, $mode", ({ mode, path, revision }) => {
  let client: Client;

  beforeAll(async () => {
    const port = await freePort();
    const { command, args } = installed("mcp-server-everything", mode);
    const loader = `process.env.PORT = "${port}"; process.argv.splice(1, 0, ${JSON.stringify(args[0])}); import(require("node:url").pathToFileURL(require("node:fs").realpathSync(process.argv[1])))`;
    const { child } = await start({ command, args: ["-e", loader, "--", ...args.slice(1)] });
    for await (const line of createInterface(child.stderr)) if (line.includes(`port ${port}`)) break;
    client = await connect(`http://127.0.0.1:${port}${path}`, helpful);
  });
  afterAll(() => client.close());

  it("works", async () => {
    expect(client.revision).toBe(revision);
    expect(await call(client, "echo", { message: "hi" })).toBe("Echo: hi");
    expect((await client.listResources()).length).toBeGreaterThan(5);
  });

  it("reports progress", async () => {
    const heard: unknown[] = [];
    const operation = "trigger-long-running-operation";
    await client.callTool(operation, { duration: 0.1, steps: 2 }, { onProgress: (progress) => heard.push(progress) });
    expect(heard).toEqual([1, 2].map((progress) => ({ progress, total: 2 })));
  });
});

/** A server that does what the test says, and where it is. */
async function serving(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Answers every request of a client as this says. */
function answering(results: (message: { method: string; id: number }) => object | undefined): RequestListener {
  return async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = JSON.parse(body);
    const result = results(message);
    if (message.id === undefined) response.writeHead(202).end();
    else if (result === undefined) response.writeHead(400).end();
    else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
    }
  };
}

const modern = answering(({ method }) => {
  if (method === "server/discover") return discovered();
  return { resultType: "complete", content: [{ type: "text", text: "ok" }] };
});

const legacy = answering(({ method }) => {
  if (method === "server/discover") return undefined;
  return method === "initialize" ? welcome("2025-11-25") : { content: [{ type: "text", text: "ok" }] };
});

describe("CL-19: a server that redirects", () => {
  it("to another origin is not followed: nothing is sent there", async () => {
    let contacts = 0;
    await using other = await serving((_, response) => {
      contacts++;
      response.end();
    });
    await using server = await serving((_, response) => response.writeHead(307, { location: other.url }).end());
    await expect(connect(server.url, { headers: { authorization: "Bearer secret" } })).rejects.toMatchObject({
      code: "http-error",
      message: expect.stringContaining("another origin"),
    });
    expect(contacts).toBe(0);
  });

  it("within its origin is followed", async () => {
    await using server = await serving((request, response) => {
      if (request.url === "/mcp") response.writeHead(308, { location: "/real" }).end();
      else modern(request, response);
    });
    await using client = await connect(server.url);
    expect(await call(client, "a")).toBe("ok");
  });
});

describe("a server that is not well", () => {
  it("and is not there, is named without what is secret", async () => {
    const port = await freePort();
    await expect(connect(`http://127.0.0.1:${port}/mcp?key=secret`)).rejects.toMatchObject({
      code: "connection-closed",
      message: `no answer from http://127.0.0.1:${port}: the connection was refused`,
    });
  });

  it("R-07: and answers without end, fails the call and nothing else", async () => {
    await using server = await serving((request, response) => {
      if (request.headers["mcp-name"] !== "flood") return modern(request, response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      const fill = () => {
        while (!response.destroyed && response.write("data: ".padEnd(65_536, "x")));
        response.once("drain", fill);
      };
      response.on("error", () => {});
      fill();
    });
    await using client = await connect(server.url, { maxBodyBytes: 1_000_000 });
    await expect(client.callTool("flood")).rejects.toMatchObject({ code: "limit-reached" });
    expect(await call(client, "a")).toBe("ok");
  });

  it("R-11: and has forgotten the session, is greeted again", async () => {
    const sessions: string[] = [];
    await using server = await serving((request, response) => {
      const id = request.headers["mcp-session-id"];
      if (id !== undefined && id !== sessions.at(-1)) return void response.writeHead(404).end();
      if (id === undefined) {
        sessions.push(`s${sessions.length}`);
        response.setHeader("mcp-session-id", sessions.at(-1) ?? "");
      }
      legacy(request, response);
    });
    await using client = await connect(server.url, { revision: "2025-11-25" });
    expect(await call(client, "a")).toBe("ok");
    sessions.push("lost");
    expect(await Promise.all([call(client, "a"), call(client, "b")])).toEqual(["ok", "ok"]);
    expect(sessions).toEqual(["s0", "lost", "s2"]);
  });
});

describe("a program that has called a server", () => {
  it.each([
    ["modern", modern, ""],
    ["legacy, closed", legacy, "await client.close();"],
  ])("ends by itself: %s", async (_what, listener, end) => {
    await using server = await serving(listener);
    const program = `
      import { connect } from "${root}/dist/connect/index.js";
      const client = await connect("${server.url}");
      console.log((await client.callTool("a")).content[0].text);
      ${end}
    `;
    const args = ["--input-type=module", "-e", program];
    const { code, stdout, stderr } = await run({ command: process.execPath, args });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "ok\n", stderr: "" });
  });

  it("does not end while a stream has to be opened again", async () => {
    let gets = 0;
    await using server = await serving((request, response) => {
      if (request.headers["last-event-id"] === "1") {
        gets++;
        response.writeHead(200, { "content-type": "text/event-stream" });
        return void response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 3, result: texts("late") })}\n\n`);
      }
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        if (!body.includes("tools/call")) return replay(request, body, response);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end("id: 1\nretry: 100\ndata:\n\n");
      });
    });
    const program = `
      import { connect } from "${root}/dist/connect/index.js";
      const client = await connect("${server.url}");
      console.log((await client.callTool("a")).content[0].text);
      await client.close();
    `;
    const args = ["--input-type=module", "-e", program];
    expect(await run({ command: process.execPath, args })).toMatchObject({ code: 0, stdout: "late\n" });
    expect(gets).toBe(1);
  });
});

/** Gives a request whose body was read to a listener that wants to read it. */
function replay(
  { method, headers }: Parameters<RequestListener>[0],
  body: string,
  response: Parameters<RequestListener>[1],
): void {
  const again = {
    method,
    headers,
    [Symbol.asyncIterator]: async function* () {
      yield body;
    },
  };
  void legacy(again as never, response as never);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
