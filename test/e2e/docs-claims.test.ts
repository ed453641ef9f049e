import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { connect as connectHere } from "../../src/connect/index.ts";
import type { PolicyRule } from "../../src/host/access.ts";
import { openHost } from "../../src/host/index.ts";
import { McpError } from "../../src/protocol/errors.ts";
import { type Revision, revisions } from "../../src/protocol/revision.ts";
import { createServer, type Middleware, tool } from "../../src/server/index.ts";
import { serveHttp, toNodeHandler } from "../../src/transport/node/http.ts";
import { fencesIn } from "../support/fences.ts";
import { root } from "./support/places.ts";

// Sentences of the guides that were wrong once, as tests.

const info = { name: "claims", version: "1.0.0" };

describe("docs/servers.md", () => {
  it.each<readonly [string, unknown, object]>([
    [
      "anything",
      new Error("a secret"),
      { code: "internal", message: expect.stringMatching(/^internal error, id \S+$/) },
    ],
    ["an McpError of the protocol", new McpError("rejected", "not today"), { code: "rejected", message: "not today" }],
  ])("middleware that throws %s fails the call as a method would (X18)", async (_, thrown, seen) => {
    const heard: unknown[] = [];
    const broken: Middleware = (next) => (call) => (call.method === "tools/call" ? Promise.reject(thrown) : next(call));
    const onError = (error: unknown) => void heard.push(error);
    const server = createServer({
      ...info,
      middleware: [broken],
      onError,
      tools: { any: tool({ run: () => "never" }) },
    });
    await using serving = await serveHttp(server, { port: 0 });
    for (const target of [server, serving.url]) {
      await using client = await connectHere(target);
      await expect(client.callTool("any")).rejects.toMatchObject(seen);
    }
    expect(heard).toEqual(thrown instanceof McpError ? [] : [thrown, thrown]);
  });
});

describe("docs/host.md", () => {
  it("the policy of its example hides and refuses what an untrusted server has, and asks where it says so (S14)", async () => {
    const asked: string[] = [];
    const { code = "" } = fencesIn("docs/host.md").find((fence) => fence.code.includes("untrusted:*")) ?? {};
    const [, rules] = /policy: (\[.*?\n {2}\]),/s.exec(code) ?? [];
    const policy: PolicyRule[] = new Function(`return ${rules}`)();
    expect(policy).toHaveLength(3);
    const read = { annotations: { readOnlyHint: true } };
    const serverOf = (name: string, tools: Readonly<Record<string, object>>) =>
      createServer({
        ...info,
        tools: Object.fromEntries(
          Object.entries(tools).map(([each, options]) => [each, tool({ ...options, run: () => `${name} ran` })]),
        ),
      });
    await using host = await openHost(
      {
        untrusted: serverOf("untrusted", { look: read, delete_all: {} }),
        shop: serverOf("shop", { look: read, buy: {}, delete_order: {} }),
        files: serverOf("files", { write: {}, delete_file: {} }),
      },
      { policy, onApprove: ({ tool: { name } }) => asked.push(name) > 0 },
    );
    const listed = (await host.listTools()).map(({ name }) => name);
    const trusted = ["files:delete_file", "files:write", "shop:buy", "shop:delete_order", "shop:look"];
    expect(listed.toSorted()).toEqual(trusted);
    for (const name of ["untrusted:look", "untrusted:delete_all"])
      await expect(host.callTool(name)).rejects.toMatchObject({ code: "denied" });
    for (const name of trusted) expect(await host.callTool(name)).toMatchObject({ content: [{ type: "text" }] });
    expect(asked).toEqual(["files:delete_file", "shop:buy", "shop:delete_order"]);
  });
});

describe("docs/clients.md", () => {
  const answers = { euro: 3 };
  const till = createServer({
    ...info,
    tools: { price: tool({ run: () => answers }), say: tool({ run: () => '{"a":1}' }) },
  });

  it.each(["2024-11-05", "2025-03-26", "2026-07-28"] as const)(
    "what a tool of ours returns is a value again in %s, text stays text (X18)",
    async (revision) => {
      await using client = await connectHere(till, { revision });
      expect(await client.tools.price({})).toEqual(answers);
      expect(await client.tools.say({})).toBe('{"a":1}');
    },
  );

  it("what a tool of another server returns before 2025-06-18 is its text (X18)", async () => {
    const results: Record<string, object> = {
      initialize: { protocolVersion: "2025-03-26", capabilities: { tools: {} }, serverInfo: info },
      "tools/call": { content: [{ type: "text", text: '{"euro":3}' }] },
    };
    const answer = async (_url: unknown, { method, body }: RequestInit = {}): Promise<Response> => {
      if (method !== "POST") return new Response(null, { status: 405 });
      const { id, method: called } = JSON.parse(String(body));
      return id === undefined
        ? new Response(null, { status: 202 })
        : Response.json({ jsonrpc: "2.0", id, result: results[called] });
    };
    await using client = await connectHere("http://127.0.0.1/mcp", {
      revision: "2025-03-26",
      fetch: answer as typeof fetch,
    });
    expect(await client.tools.price?.({})).toBe('{"euro":3}');
  });
});

describe("docs/limits.md", () => {
  const long = createServer({ ...info, tools: { long: tool({ run: () => "x".repeat(5000) }) } });

  it("connect has limits of its own on bodies and JSON (X18)", async () => {
    await using serving = await serveHttp(long, { port: 0 });
    await using client = await connectHere(serving.url, { limits: { maxMessageBytes: 2000 } });
    await expect(client.callTool("long")).rejects.toMatchObject({ code: "limit-reached" });
    const nested = createServer({ ...info, tools: { nest: tool({ run: () => ({ a: { b: { c: { d: {} } } } }) }) } });
    await using other = await serveHttp(nested, { port: 0 });
    await using shallow = await connectHere(other.url, { limits: { maxJsonDepth: 5, maxJsonNodes: 0 } });
    await expect(shallow.callTool("nest")).rejects.toMatchObject({ code: "parse-error" });
  });
});

describe("docs/revisions.md", () => {
  it("every revision is spoken over HTTP (X18)", async () => {
    const server = createServer({ ...info, tools: { hello: tool({ run: () => "Hello" }) } });
    await using serving = await serveHttp(server, { port: 0, sse: true });
    const spoken: Revision[] = [];
    for (const revision of revisions) {
      const isSse = revision === "2024-11-05";
      const url = isSse ? serving.url.replace(/mcp$/, "sse") : serving.url;
      await using client = await connectHere({ url, ...(isSse && { type: "sse" }) }, { revision });
      expect(await client.tools.hello?.({})).toBe("Hello");
      spoken.push(client.revision);
    }
    expect(spoken).toEqual(revisions);
  });
});

describe("docs/errors.md", () => {
  it("a server over HTTP refuses headers that differ from the body as header-mismatch (X18)", async () => {
    await using serving = await serveHttp(createServer(info), { port: 0 });
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const response = await fetch(serving.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/list",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "prompts/list", params: { _meta } }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: -32020 } });
  });

  it("unsupported is what the page says it is (X18)", async () => {
    const server = createServer({
      ...info,
      tools: { log: tool({ run: (_input, ctx) => ctx.log("info", "x") }) },
      onError: () => {},
    });
    await using client = await connectHere(server);
    const unsupported = { code: "unsupported" };
    await expect(client.listPrompts()).rejects.toMatchObject(unsupported);
    await expect(client.tasks.list()).rejects.toMatchObject(unsupported);
    expect(() => server.listChanged("tools")).toThrow(expect.objectContaining(unsupported));
    await expect(Promise.resolve().then(() => client.setRoots([]))).rejects.toMatchObject(unsupported);
    const { connect } = await import("../../src/connect/web.ts");
    await expect(connect("node server.js")).rejects.toMatchObject(unsupported);
  });
});

describe("docs/deploying.md", () => {
  it("OPTIONS is answered with 204, whoever asks, and with 503 nobody is served while it closes (X18)", async () => {
    let begun = (): void => {};
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const wait = tool({
      run: (_input, { signal }) => {
        begun();
        return aborted(signal);
      },
    });
    const server = createServer({ ...info, tools: { wait } });
    const auth = () => ({ ok: false as const, status: 401 as const });
    await using guarded = await serveHttp(server, { port: 0, auth });
    expect((await fetch(guarded.url, { method: "OPTIONS" })).status).toBe(204);
    await using serving = await serveHttp(server, { port: 0, drainMs: 60_000 });
    await using client = await connectHere(serving.url);
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { signal: abort.signal }).catch((error: unknown) => error);
    await running;
    const closed = serving.close();
    const refused = await client.discover({ fresh: true }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "http-error", data: { status: 503 } });
    abort.abort();
    await Promise.all([call, closed]);
  });

  it("a handler serves TLS where node:https has it (X18)", async () => {
    const folder = mkdtempSync(join(tmpdir(), "plugbay-tls-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    execFileSync(
      "openssl",
      ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, ...subject],
      {
        stdio: "ignore",
      },
    );
    const handler = toNodeHandler(createServer({ ...info, tools: { hello: tool({ run: () => "Hello" }) } }));
    const server = createHttpsServer({ key: readFileSync(key), cert: readFileSync(cert) }, handler);
    await new Promise<void>((resolve) => void server.listen(0, "localhost", resolve));
    const program = `import { connect } from "plugbay/client";
      const client = await connect("https://localhost:${(server.address() as AddressInfo).port}/mcp");
      console.log(await client.tools.hello({}), client.revision);
      await client.close();`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
      cwd: root,
      env: { ...process.env, NODE_EXTRA_CA_CERTS: cert },
    });
    expect(stdout).toBe("Hello 2026-07-28\n");
    await handler.close();
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true });
  });
});

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}
