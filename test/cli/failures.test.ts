import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandRows } from "../../src/cli/commands.ts";
import { root } from "../e2e/support/places.ts";
import { quietPort } from "../support/quiet-port.ts";
import { createHome, type Home, json, plugbay } from "./support/cli.ts";
import { installSuite } from "./support/suite.ts";

// How every command with a target fails: what it says, and its exit code.

/** Commands with what they need besides the target. */
const commands: readonly (readonly [name: string, ...args: readonly string[]])[] = [
  ["tools"],
  ["call", "buy"],
  ["resources"],
  ["read", "stock://all"],
  ["prompts"],
  ["prompt", "upsell"],
  ["complete", "upsell", "sku=A"],
  ["skills"],
  ["conform"],
  ["ping"],
  ["watch"],
  ["tasks"],
  ["shell"],
  ["types"],
  ["bench", "buy", "sku=A"],
  ["record", "-o", "failed.ndjson"],
];

let home: Home;
let closed = "";
let guarded = "";
const site = createServer((_, response) => {
  response.writeHead(401, { "www-authenticate": "Bearer" }).end();
});

beforeAll(async () => {
  home = createHome();
  installSuite(home);
  home.write("mcp.json", '{ "mcpServers": { "shop": { "command": }');
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  guarded = `http://127.0.0.1:${(site.address() as AddressInfo).port}/mcp`;
  closed = `http://127.0.0.1:${await quietPort()}/mcp`;
});
afterAll(() => {
  site.close();
  site.closeAllConnections();
});

describe.each(commands)("%s", (name, ...args) => {
  it("without a target is a usage error", async () => {
    const { code, stdout, stderr } = await plugbay(home, [name]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`plugbay ${name} needs a target`);
  });

  it("with an option that there is not is a usage error that names the one that was meant", async () => {
    // The options of a tool are known when there is a tool.
    const where = name === "call" ? ["--timeout", "soon"] : ["--timeuot", "3s"];
    const { code, stderr } = await plugbay(home, [name, closed, ...args, ...where]);
    expect(code).toBe(2);
    expect(stderr).toContain("--timeout");
  });

  it("of an unreachable server ends with 3", async () => {
    const ended = await plugbay(home, [name, closed, ...args, "--json"]);
    expect(ended).toMatchObject({ code: 3, stderr: "" });
    expect(json(ended)).toMatchObject({
      error: { code: "connection-closed", message: expect.stringContaining("refused") },
    });
  });

  it("of a program that dies ends with 3, and has its last words", async () => {
    const dead = join(root, "test", "fixtures", "children", "dies-at-once.mjs");
    const { code, stderr } = await plugbay(home, [name, ...args, "--", process.execPath, dead]);
    expect(code).toBe(3);
    expect(stderr).toContain("exited with code 4");
    expect(stderr).toContain("no key");
  });

  it("of a program that there is not ends with 3", async () => {
    const { code, stderr } = await plugbay(home, [name, ...args, "--", "no-such-program"]);
    expect(code).toBe(3);
    expect(stderr).toContain("no-such-program");
  });

  it("of a server that wants a sign-in ends with 4, and says how", async () => {
    const ended = await plugbay(home, [name, guarded, ...args, "--json"]);
    expect(ended.code).toBe(4);
    const hint = expect.stringContaining(`plugbay login ${guarded}`);
    expect(json(ended)).toMatchObject({ error: { code: "unauthorized", hint } });
  });

  it("with a broken configuration file ends with 2, and says where", async () => {
    const { code, stderr } = await plugbay(home, [name, "shop", ...args]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/mcp\.json:1:\d+/);
  });
});

describe("commands that name their server in another way", () => {
  const inFile = (url: string): string => {
    const name = `servers-${url.replaceAll(/\W+/g, "-")}.json`;
    return home.write(name, { mcpServers: { far: { url } } });
  };
  const lines: Readonly<Record<string, (url: string) => readonly string[]>> = {
    diff: (url) => ["diff", url, url],
    test: (url) => ["test", "calls.yaml", "--target", url],
    replay: (url) => ["replay", "recorded.ndjson", "--against", url],
    lock: (url) => ["lock", "--config", inFile(url)],
    approve: (url) => ["approve", "far", "--config", inFile(url)],
  };
  const names = Object.keys(lines);
  const lineOf = (name: string, url: string): readonly string[] => [...(lines[name]?.(url) ?? []), "--json"];

  beforeAll(() => {
    home.write("calls.yaml", "tests:\n  - call: buy\n");
    const request = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const recorded = [
      { recording: 1, of: "shop", startedAt: "2026-01-01T00:00:00.000Z", isRedacted: true },
      { at: 1, from: "client", message: request },
      { at: 2, from: "server", message: { jsonrpc: "2.0", id: 1, result: { tools: [] } } },
    ];
    home.write("recorded.ndjson", `${recorded.map((line) => JSON.stringify(line)).join("\n")}\n`);
  });

  it.each(names)("%s ends with 3 when it is unreachable", async (name) => {
    const ended = await plugbay(home, lineOf(name, closed));
    expect(ended).toMatchObject({ code: 3, stderr: "" });
    expect(json(ended)).toMatchObject({ error: { message: expect.stringContaining("refused") } });
  });

  it.each(names)("%s ends with 4 when it wants a sign-in", async (name) => {
    const ended = await plugbay(home, lineOf(name, guarded));
    expect(ended.code).toBe(4);
    expect(json(ended)).toMatchObject({ error: { code: "unauthorized" } });
  });

  it.each([
    ["diff", "shop", "shop"],
    ["test", "calls.yaml", "--target", "shop"],
    ["replay", "recorded.ndjson", "--against", "shop"],
    ["lock", "--config", "mcp.json"],
    ["approve", "shop", "--config", "mcp.json"],
    ["check", "--config", "mcp.json"],
    ["list"],
    ["config"],
    ["install", "shop", "--for", "cursor"],
    ["remove", "shop"],
    ["doctor", "shop"],
    ["login", "shop"],
  ])("%s with a broken configuration file ends with 2", async (...line) => {
    const { code, stdout, stderr } = await plugbay(home, [...line, "--json"]);
    expect(code).toBe(2);
    expect(stdout + stderr).toMatch(/mcp\.json:1:\d+|plugbay\.lock/);
  });
});

describe("every command", () => {
  it("with a target is tested here, unless it has no server to fail", async () => {
    const loaded = await Promise.all(commandRows.map(async (row) => (await row.load()).command));
    const having = loaded.filter(({ target }) => target !== undefined).map(({ name }) => name);
    // `doctor` and `login` have tests of their own; the others look at what is kept here only.
    const others = ["diff", "doctor", "login", "logout", "whoami"];
    expect(having.filter((name) => !others.includes(name)).toSorted()).toEqual(
      commands.map(([name]) => name).toSorted(),
    );
  });

  it.each(commandRows.map(({ name }) => name))("%s refuses an option that there is not, with 2", async (name) => {
    const where = name === "call" ? ["--no-such-option", "--timeout", "soon"] : ["--no-such-option"];
    expect(await plugbay(home, [name, ...where])).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("call", () => {
  it("of a tool that ends the server ends with 3, and has its last words", async () => {
    const shop = join(root, "test", "fixtures", "children", "shop-server.mjs");
    const { code, stderr } = await plugbay(home, ["call", "crash", "--", process.execPath, shop]);
    expect(code).toBe(3);
    expect(stderr).toContain("out of paper");
  });

  it("that takes too long ends with 1", async () => {
    const shop = join(root, "test", "fixtures", "children", "shop-server.mjs");
    const ended = await plugbay(home, [
      "call",
      "deliver",
      "--timeout",
      "300ms",
      "--json",
      "--",
      process.execPath,
      shop,
    ]);
    expect(ended.code).toBe(1);
    expect(json(ended)).toMatchObject({ error: { code: "timeout" } });
  });

  it("that takes too long to connect ends with 3", async () => {
    const mute = join(root, "test", "fixtures", "children", "mute.mjs");
    const args = ["call", "x", "--connect-timeout", "300ms", "--json", "--", process.execPath, mute];
    const ended = await plugbay(home, args);
    expect(ended.code).toBe(3);
    expect(json(ended)).toMatchObject({ error: { code: "timeout", data: { phase: "connect" } } });
  });
});

describe("hints", () => {
  it("have no secret of the command line in them", async () => {
    const shop = join(root, "test", "fixtures", "children", "shop-server.mjs");
    const { stderr } = await plugbay(home, [
      "read",
      "none://x",
      "--",
      process.execPath,
      shop,
      "--token",
      "hunter2hunter2",
    ]);
    expect(stderr).toContain("plugbay resources --");
    expect(stderr).not.toContain("hunter2");
  });
});
