import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandRows } from "../../src/cli/commands.ts";
import { root } from "../e2e/support/places.ts";
import { quietPort } from "../support/quiet-port.ts";
import { createHome, type Ended, type Home, json, plugbay, shop, shopFile } from "./support/cli.ts";
import { type Category, categories, everyCommand, type Run } from "./support/every-command.ts";
import { installSuite } from "./support/suite.ts";

// How every command ends: what it says, and its exit code.

/** Commands with a target, with what they need besides it. */
const commands: readonly (readonly [name: string, ...args: readonly string[]])[] = [
  ["tools"],
  ["call", "buy"],
  ["read", "stock://all"],
  ["prompt", "upsell"],
  ["complete", "upsell", "sku=A"],
  ["bench", "buy", "sku=A"],
  ["record", "-o", "failed.ndjson"],
  ...["resources", "prompts", "skills", "conform", "ping", "watch", "tasks", "shell", "types"].map((name): [string] => [
    name,
  ]),
];

let home: Home;
let brokenHome: Home;
const site = createServer((_, response) => {
  response.writeHead(401, { "www-authenticate": "Bearer" }).end();
});
await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
const guarded = `http://127.0.0.1:${(site.address() as AddressInfo).port}/mcp`;
const closed = `http://127.0.0.1:${await quietPort()}/mcp`;
const rows = Object.entries(everyCommand).map(([name, row]) => ({ name, cases: row({ closed, guarded }) }));

beforeAll(() => {
  home = createHome();
  brokenHome = createHome();
  for (const one of [home, brokenHome]) {
    installSuite(one);
    writeFiles(one);
  }
  const dead = join(root, "test", "fixtures", "children", "dies-at-once.mjs");
  const servers = {
    shop: { command: process.execPath, args: [shopFile] },
    far: { url: closed },
    dead: { command: process.execPath, args: [dead] },
    guarded: { url: guarded },
  };
  home.write("mcp.json", { mcpServers: servers });
  home.write("spare.json", { mcpServers: servers });
  for (const [name, server] of Object.entries(servers)) home.write(`${name}.json`, { mcpServers: { [name]: server } });
  brokenHome.write("mcp.json", '{ "mcpServers": { "shop": { "command": }');
});
afterAll(() => {
  site.close();
  site.closeAllConnections();
});

/** What commands read besides configuration files. */
function writeFiles(one: Home): void {
  one.write("calls.yaml", "tests:\n  - call: articles\n");
  one.write("empty.lock", { lockVersion: 2, servers: {} });
  one.write("throws.mjs", 'throw new Error("no shelf");\n');
  one.write("project/package.json", {
    name: "demo",
    version: "1.0.0",
    description: "Greets",
    type: "module",
    bin: "./main.js",
  });
  one.write("project/main.js", "");
  const params = { ref: { type: "ref/prompt", name: "upsell" }, argument: { name: "sku", value: "B" } };
  const recorded = [
    { recording: 1, of: "shop", startedAt: "2026-01-01T00:00:00.000Z", isRedacted: true },
    { at: 1, from: "client", message: { jsonrpc: "2.0", id: 1, method: "completion/complete", params } },
    {
      at: 2,
      from: "server",
      message: { jsonrpc: "2.0", id: 1, result: { completion: { values: ["B1"], total: 1, hasMore: false } } },
    },
  ];
  one.write("list.ndjson", `${recorded.map((line) => JSON.stringify(line)).join("\n")}\n`);
}

/** Runs a line of the table to its end, or until it has said what it is interrupted at. */
function runCase({ line, input, until }: Run, category: Category): Promise<Ended> {
  let child: ChildProcess | undefined;
  let isOver = false;
  return plugbay(category === "a broken configuration file" ? brokenHome : home, line, {
    ...(input !== undefined && { input }),
    onStart: (started) => {
      child = started;
    },
    onOutput: ({ stdout, stderr }) => {
      if (isOver || until?.test(stdout + stderr) !== true) return;
      isOver = true;
      child?.kill("SIGINT");
    },
  });
}

describe("every command", () => {
  it("has a row that says how it ends in every case", () => {
    expect(Object.keys(everyCommand).toSorted()).toEqual(commandRows.map(({ name }) => name).toSorted());
    for (const { name, cases } of rows)
      expect({ name, cases: Object.keys(cases) }).toEqual({ name, cases: [...categories] });
  });

  it("that is tested elsewhere is tested there", () => {
    for (const { cases } of rows) {
      for (const one of Object.values(cases)) {
        if (!("file" in one)) continue;
        expect(readFileSync(join(import.meta.dirname, one.file), "utf8")).toContain(`"${one.test}"`);
      }
    }
  });

  it("with a target can be unreachable, crash and need a sign-in", async () => {
    const loaded = await Promise.all(commandRows.map(async (row) => (await row.load()).command));
    const reaching = loaded.filter(({ target, hasOwnConnection }) => target !== undefined && hasOwnConnection !== true);
    for (const { name } of reaching) {
      const left = categories.filter(
        (category) => "notApplicable" in (everyCommand[name]?.({ closed, guarded })[category] ?? {}),
      );
      expect({ name, left }).toEqual({ name, left: [] });
    }
  });

  it.each(commandRows.map(({ name }) => name))("%s refuses an option that there is not, with 2", async (name) => {
    const where = name === "call" ? ["--no-such-option", "--timeout", "soon"] : ["--no-such-option"];
    expect(await plugbay(home, [name, ...where])).toMatchObject({ code: 2, stdout: "" });
  });
});

describe.each(rows)("$name", ({ name, cases }) => {
  const runs = Object.entries(cases).flatMap(([category, one]) => ("line" in one ? [{ category, one }] : []));
  it.each(runs)("$category", async ({ category, one }) => {
    for (const line of one.before ?? []) expect(await plugbay(home, line)).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await runCase(one, category as Category);
    expect({ name, code, said: stdout + stderr }).toEqual({
      name,
      code: one.code,
      said: expect.stringMatching(one.says),
    });
    // A failure is no result.
    if (one.code >= 2) expect(stderr).not.toContain("bug of plugbay");
  });
});

describe.each(commands)("%s", (name, ...args) => {
  it("without a target is a usage error", async () => {
    const { code, stdout, stderr } = await plugbay(home, [name]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`plugbay ${name} needs a target`);
  });

  it("of a program that there is not ends with 3", async () => {
    const { code, stderr } = await plugbay(home, [name, ...args, "--", "no-such-program"]);
    expect(code).toBe(3);
    expect(stderr).toContain("no-such-program");
  });

  it.each([
    ["an unreachable server", 3, closed, { code: "connection-closed", message: expect.stringContaining("refused") }],
    [
      "a server that needs a sign-in",
      4,
      guarded,
      { code: "unauthorized", hint: expect.stringContaining(`plugbay login ${guarded}`) },
    ],
  ])("of %s ends with %i, and says so in JSON", async (_, code, url, error) => {
    const ended = await plugbay(home, [name, url, ...args, "--json"]);
    expect(ended).toMatchObject({ code, stderr: "" });
    expect(json(ended)).toMatchObject({ error });
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

describe("files of the user that are broken or cannot be used", () => {
  const user: Home = createHome();
  user.write("project/package.json", "{ broken");
  user.write("folder/file.txt", "");
  user.write("user/.state/plugbay/undo.json", "{ broken");
  const out = join("none", "there");

  it.each<[what: string, line: readonly string[], says: string]>([
    ["install of a project", ["install", "project", "--for", "cursor"], "package.json is not a JSON object"],
    [
      "add to a folder",
      ["add", "docs", "https://example.com/mcp", "--file", "folder"],
      "folder cannot be read: it is a folder",
    ],
    ["undo", ["undo"], "undo.json is broken"],
    ["call with arguments", ["call", "buy", "--args", "folder", ...shop], "folder cannot be read: it is a folder"],
    ["test", ["test", "folder"], "folder cannot be read: it is a folder"],
    ["types into a folder that there is not", ["types", "--out", out, ...shop], out],
    ["lock into a folder that there is not", ["diff", out, "--update", ...shop], out],
    ["tee into a folder that there is not", ["tee", out, ...shop], out],
  ])("%s: ends with 2, and is not called a bug of plugbay", async (_, line, says) => {
    const { code, stderr } = await plugbay(user, line);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(says) });
    expect(stderr).not.toContain("bug of plugbay");
  });
});
