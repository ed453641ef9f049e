import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";
import { connect, McpError } from "./support/built.ts";
import { root, script } from "./support/places.ts";
import { start as begin, run, textOf } from "./support/run.ts";

// The demo behind `npm start`, every example that is a server, and one that must not start.

const start = (...args: readonly string[]) => script("scripts/start.mjs", ...args);

/** The gateway with the demo, on a port that is free. */
async function startGateway() {
  const { child, ended } = await begin(start("--port", "0"));
  const said = textOf(child.stdout);
  while (!said().includes("plugbay gateway mcp.json")) await once(child.stdout, "data");
  const [, url = ""] = /plugbay gateway on (\S+)/.exec(said()) ?? [];
  const stop = () => {
    child.kill("SIGINT");
    return ended;
  };
  return { url, said, stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

describe.concurrent("npm start", () => {
  it("serves the demo by a gateway, says how to reach it in words a host understands, and ends when told", async ({
    expect,
  }) => {
    await using demo = await startGateway();
    const [entry = ""] = /^ {2}\{\n[\s\S]*?^ {2}\}$/m.exec(demo.said()) ?? [];
    const { plugbay } = JSON.parse(entry).mcpServers;
    expect(plugbay).toEqual({ type: "http", url: demo.url });
    await using client = await connect(plugbay);
    expect(await client.tools.bistro__menu?.({ vegetarian: true })).toBe("ratatouille: 14 €\nquiche: 11 €");
    await client.close();
    expect(await demo.stop()).toEqual({ code: 0, signal: null });
  });

  it("asks by the client who calls", async ({ expect }) => {
    await using demo = await startGateway();
    await using client = await connect(demo.url, { onElicit: () => ({ ok: true }) });
    expect(await client.tools.bistro__order?.({ dish: "quiche", quantity: 2 })).toEqual({
      dish: "quiche",
      quantity: 2,
      total: 22,
    });
  });

  it("serves on stdio until its input ends", async ({ expect }) => {
    const discover = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    const requests = [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: me } },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/list" },
      { id: 3, method: "server/discover", params: { _meta: { ...discover, ...modern } } },
    ];
    const lines = requests.map((request) => JSON.stringify({ jsonrpc: "2.0", ...request }));
    const { code, stdout } = await run(start("--stdio"), `${lines.join("\n")}\n`);
    expect(code).toBe(0);
    const answers = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers).toHaveLength(3);
    expect(answers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 1, result: expect.objectContaining({ protocolVersion: "2025-11-25" }) }),
        expect.objectContaining({
          id: 2,
          result: { tools: expect.arrayContaining([expect.objectContaining({ name: "bistro__menu" })]) },
        }),
        expect.objectContaining({
          id: 3,
          result: expect.objectContaining({ supportedVersions: expect.arrayContaining(["2026-07-28"]) }),
        }),
      ]),
    );
  });
});

describe.concurrent("a server with a pattern that could take for ever", () => {
  const program = `
    import { createServer, tool } from "plugbay/server";
    import { serveStdio } from "plugbay/stdio";
    const input = { type: "object", properties: { a: { type: "string", pattern: "(a+)+$" } } };
    await serveStdio(createServer({ name: "bad", version: "1", tools: { slow: tool({ input, run: () => "ran" }) } }));
  `;
  const bad = { command: process.execPath, args: ["--input-type=module", "--eval", program] };

  it("does not start, and says why", async ({ expect }) => {
    const { child, ended } = await begin(bad);
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
    expect(await ended).toEqual({ code: 1, signal: null });
    expect(stdout()).toBe("");
    expect(stderr()).toMatch(
      /McpError: tool slow: input is not a usable schema: #\/properties\/a\/pattern cannot be used/,
    );
  });

  it.for(["2025-11-25", "2026-07-28"] as const)("cannot be connected to on %s", async (revision, { expect }) => {
    await expect(connect(bad, { revision })).rejects.toBeInstanceOf(McpError);
  });
});

describe.concurrent("the example", () => {
  const examples = readdirSync(join(root, "examples")).filter((name) => name.endsWith(".mjs"));
  const servers = examples.filter(isServer);

  it("of a server is there", ({ expect }) => {
    expect(servers).toContain("bistro-server.mjs");
  });

  it.for(servers)("%s serves", async (name, { expect }) => {
    await using client = await connect(script(join("examples", name), "--stdio"));
    const { tools, resources, prompts } = client.server.capabilities;
    const offered = [
      ...(tools ? await client.listTools() : []),
      ...(resources ? await client.listResources() : []),
      ...(prompts ? await client.listPrompts() : []),
    ];
    expect(offered).not.toHaveLength(0);
  });

  it.for(examples)("%s comes to a good end by itself", async (name, { expect }) => {
    const { code, stderr } = await run(script(join("examples", name)));
    expect({ code, stderr }).toMatchObject({ code: 0 });
  });
});

const me = { name: "test", version: "0" };
const modern = {
  "io.modelcontextprotocol/clientInfo": me,
  "io.modelcontextprotocol/clientCapabilities": {},
};

function isServer(name: string): boolean {
  return name.endsWith(".mjs") && readFileSync(join(root, "examples", name), "utf8").includes("serveStdio(");
}
