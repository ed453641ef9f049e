import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";
import { connect, McpError } from "./support/built.ts";
import { root, script } from "./support/places.ts";
import { start as begin, run, textOf } from "./support/run.ts";

// The demo behind `npm start`, every example that is a server, and one that must not start.

const start = (...args: readonly string[]) => script("scripts/start.mjs", ...args);

/** The demo over HTTP, on a port that is free. */
async function startHttp() {
  const { child, ended } = await begin(start("--port", "0"));
  const said = textOf(child.stdout);
  while (!said().includes("npm start -- call order")) await once(child.stdout, "data");
  const [, url = ""] = /listening on (\S+)/.exec(said()) ?? [];
  const entries = [...said().matchAll(/^\{\n[\s\S]*?^\}$/gm)].map(([text]) => JSON.parse(text).mcpServers.bistro);
  const stop = () => {
    child.kill("SIGTERM");
    return ended;
  };
  return { url, entries, stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

describe.concurrent("npm start", () => {
  it("serves over HTTP, says how to reach it in words a host understands, and ends when told", async ({ expect }) => {
    await using demo = await startHttp();
    expect(demo.entries).toEqual([
      { type: "http", url: demo.url },
      { command: process.execPath, args: [join(root, "examples", "bistro-server.mjs")] },
    ]);
    for (const entry of demo.entries) {
      await using client = await connect(entry);
      expect(await client.tools.menu?.({ vegetarian: true })).toBe("ratatouille: 14 €\nquiche: 11 €");
    }
    expect(await demo.stop()).toEqual({ code: 0, signal: null });
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
          result: { tools: expect.arrayContaining([expect.objectContaining({ name: "menu" })]) },
        }),
        expect.objectContaining({
          id: 3,
          result: expect.objectContaining({ supportedVersions: expect.arrayContaining(["2026-07-28"]) }),
        }),
      ]),
    );
  });

  it.for<[args: string[], stdout: string]>([
    [["menu"], "ratatouille: 14 €\nbouillabaisse: 24 €\nquiche: 11 €\n"],
    [["menu", '{"vegetarian":true}'], "ratatouille: 14 €\nquiche: 11 €\n"],
    [
      ["order", '{"dish":"quiche","quantity":2}'],
      `${JSON.stringify({ dish: "quiche", quantity: 2, total: 22 }, null, 2)}\n`,
    ],
  ])("calls %j", async ([args, stdout], { expect }) => {
    await using demo = await startHttp();
    const ran = await run(start("call", ...args, "--url", demo.url));
    expect(ran).toEqual({ code: 0, signal: null, stdout, stderr: "" });
  });

  it("says so when nothing is at the URL", async ({ expect }) => {
    const { code, stdout, stderr } = await run(start("call", "menu", "--url", "http://127.0.0.1:9/mcp"));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^connection-closed: .*127\.0\.0\.1:9/);
  });

  it("shows the progress of a call", async ({ expect }) => {
    const { code, stdout, stderr } = await run(start("call", "cook", '{"dish":"quiche"}'));
    expect({ code, stdout }).toEqual({ code: 0, stdout: "quiche is served\n" });
    expect(stderr.split("\n")).toContain("2 of 2");
  });

  it.for<[what: string, args: string[], code: number, stderr: RegExp]>([
    ["a tool that is not there", ["call", "nothing"], 1, /invalid-params: unknown tool nothing/],
    ["a dish that is not there", ["call", "cook", '{"dish":"soup"}'], 1, /tool-error: there is no soup/],
    [
      "arguments that do not fit",
      ["call", "order", '{"dish":7}'],
      1,
      /tool-error: invalid arguments for order: \/dish/,
    ],
    ["arguments that are no JSON", ["call", "menu", "{"], 2, /the arguments are no JSON: \{/],
    ["a verb that is not there", ["dance"], 2, /usage: npm start/],
    ["an option that is not there", ["--fast"], 2, /--fast[\s\S]*usage: npm start/],
    ["a port that is none", ["--port", "x"], 2, /the port must be a number: x/],
  ])("refuses %s", async ([, args, code, stderr], { expect }) => {
    expect(await run(start(...args))).toEqual({
      code,
      signal: null,
      stdout: "",
      stderr: expect.stringMatching(stderr),
    });
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
      /McpError: tool slow: input is no usable schema: #\/properties\/a\/pattern cannot be used/,
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
