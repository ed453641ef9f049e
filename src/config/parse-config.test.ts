import fc from "fast-check";
import { afterAll, describe, expect, it, vi } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import { McpError } from "../protocol/errors.ts";
import { type ParsedConfig, parseConfig } from "./parse-config.ts";
import { formatConfigProblem } from "./problem.ts";
import { limits } from "./tree.ts";

const loaded = vi.hoisted((): string[] => []);
vi.mock("jsonc-parser", async (original) => note("jsonc-parser", await original<object>()));
vi.mock("smol-toml", async (original) => note("smol-toml", await original<object>()));
vi.mock("yaml", async (original) => note("yaml", await original<object>()));

function note(name: string, module: object): object {
  loaded.push(name);
  return module;
}

async function failure(text: string, path: string): Promise<string> {
  const error = await parseConfig(text, { path }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(McpError);
  expect((error as McpError).code).toBe("invalid-config");
  return (error as McpError).message;
}

function namesOf({ servers }: ParsedConfig): readonly string[] {
  return servers.map(({ name }) => name);
}

describe("parseConfig", () => {
  it("loads only the parser that a file needs", async () => {
    expect(loaded).toEqual([]);
    await parseConfig("[mcp_servers.a]\ncommand = 'x'", { path: "a.toml" });
    expect(loaded).toEqual(["smol-toml"]);
    await parseConfig("mcpServers: { a: { command: x } }", { path: "a.yml" });
    expect(loaded).toEqual(["smol-toml", "yaml"]);
    await parseConfig('{ "mcpServers": {} }', { path: "a.json" });
    expect(loaded).toEqual(["smol-toml", "yaml", "jsonc-parser"]);
  });

  it.each([
    ["json", '\ufeff// one\n/* two */ { "mcpServers": { "a": { "command": "x", }, }, }'],
    ["json", '{"mcpServers":{"a":{}}}'],
    ["toml", '# c\n[mcp_servers.a]\ncommand = "x"'],
    ["toml", 'model = "x"\nmcp_servers = { a = {} }'],
    ["yaml", "# c\nextensions:\n  a:\n    cmd: x"],
  ])("tells %s by how the text begins, where the name has no extension", async (_, text) => {
    expect(namesOf(await parseConfig(text, { path: "config" }))).toEqual(["a"]);
  });

  it.each([
    ['{ "mcpServers": { "a": {} } }', "generic"],
    ['{ "servers": { "a": {} } }', "vscode"],
    ['{ "context_servers": { "a": {} } }', "zed"],
    ['{ "mcp_servers": { "a": {} } }', "codex"],
    ['{ "mcp": { "a": {} } }', "opencode"],
    ['{ "mcp": { "servers": { "a": {} } } }', "vscode"],
    ['{ "mcp": { "servers": { "type": "local" }, "a": {} } }', "opencode"],
    ['{ "mcp.servers": { "a": {} } }', "vscode"],
    ['{ "extensions": { "a": {} } }', "goose"],
  ])("finds the servers in %s", async (text, dialect) => {
    const parsed = await parseConfig(text, { path: "some.json" });
    expect(parsed.dialect).toBe(dialect);
    expect(namesOf(parsed)).toContain("a");
  });

  it("names what is there and what would be understood, where there are no servers", async () => {
    expect(await failure('{ "theme": 1, "my key": 2 }', "a.json")).toBe(
      'a.json:1:1: there are no servers in it: it has theme, "my key"; understood is mcpServers, servers, mcp_servers, ' +
        "context_servers, mcp.servers, mcp, extensions",
    );
    const many = JSON.stringify(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, 1])));
    expect(await failure(many, "a.json")).toMatch(/it has k0, .*k7 and 22 more; understood/);
  });

  it.each(["{}", '{ "mcpServers": {} }'])("takes %s for no servers", async (text) => {
    expect((await parseConfig(text, { path: "mcp.json" })).servers).toEqual([]);
  });

  it.each([
    ["/h/.gemini/settings.json", '{ "theme": 1, "mcp": { "allowed": ["a"] } }'],
    ["/h/.codex/config.toml", 'model = "x"'],
    ["/h/.claude.json", '{ "numStartups": 3 }'],
    ["/w/.vscode/settings.json", '{ "editor.tabSize": 2, "mcp": { "inputs": [] } }'],
    ["/h/.config/goose/config.yaml", "# nothing yet"],
    ["/w/opencode.json", '{ "$schema": "https://opencode.ai/config.json" }'],
  ])("takes the settings in %s for no servers", async (path, text) => {
    expect((await parseConfig(text, { path })).servers).toEqual([]);
  });

  it.each([
    ["a.json", "", "a.json:1:1: the file is empty"],
    ["a.json", "  \n ", "a.json:1:1: the file is empty"],
    ["a.json", "[]", "a.json:1:1: an object with servers is expected, not a list"],
    ["a.json", '"x"', "a.json:1:1: an object with servers is expected, not text"],
    ["a.yaml", "- a", "a.yaml:1:1: an object with servers is expected, not a list"],
    ["a.json", '{ "mcpServers": [] }', "a.json:1:17: mcpServers must be an object that has servers by their names"],
    ["a.yaml", "mcpServers:\n  ? [a]\n  : 1", "a.yaml:2:5: a name has to be text"],
  ])("refuses %s with %j", async (path, text, message) => {
    expect(await failure(text, path)).toBe(message);
  });

  it("warns of servers that it does not read", async () => {
    const text = '{ "mcpServers": { "a": {} },\n "servers": { "b": { "command": "x" } }, "mcp": { "allowed": [] } }';
    const parsed = await parseConfig(text, { path: "a.json" });
    expect(namesOf(parsed)).toEqual(["a"]);
    expect(parsed.problems.map(formatConfigProblem)).toEqual(["a.json:2:2: the servers in servers are not read"]);
  });

  it("puts in what aliases and merge keys of YAML stand for", async () => {
    const text =
      "x: &x { a: 1, b: 2 }\nmcpServers:\n  one: { <<: *x, b: 3 }\n  two: { <<: [{ a: 4 }, *x] }\n  three: *x";
    const { servers } = await parseConfig(text, { path: "a.yaml" });
    const values = servers.map(
      ({ value }) =>
        value.kind === "object" &&
        [...value.members].map(([name, member]) => [name, member.value.kind === "number" && member.value.value]),
    );
    expect(values).toEqual([
      [
        ["b", 3],
        ["a", 1],
      ],
      [
        ["a", 4],
        ["b", 2],
      ],
      [
        ["a", 1],
        ["b", 2],
      ],
    ]);
  });

  it.each([
    [
      "a.json",
      '{ "__proto__": { "polluted": 1 }, "mcpServers": { "__proto__": { "command": "x" }, "constructor": {} } }',
    ],
    ["a.toml", '__proto__ = { polluted = 1 }\n[mcp_servers.__proto__]\ncommand = "x"\n[mcp_servers.constructor]'],
    ["a.yaml", "__proto__: { polluted: 1 }\nmcpServers: { __proto__: { command: x }, constructor: {} }"],
  ])("reads names of objects in %s like any other", async (path, text) => {
    expect(namesOf(await parseConfig(text, { path }))).toEqual(["__proto__", "constructor"]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe("bounds", () => {
  it.each([
    ["length", "a.json", " ".repeat(limits.maxTextLength + 1), /longer than 1048576 characters/],
    ["length of YAML", "a.yaml", " ".repeat(limits.maxYamlLength + 1), /longer than 262144 characters/],
    ["depth of JSON", "a.json", "[".repeat(500_000), /:1:33: values are nested deeper than 32 levels/],
    ["depth of objects", "a.json", `${'{"a":'.repeat(33)}1${"}".repeat(33)}`, /nested deeper than 32/],
    ["depth of TOML", "a.toml", `a = ${"[".repeat(5_000)}`, /./],
    ["depth of dotted names", "a.toml", `${"a.".repeat(100_000)}b = 1`, /nested deeper than 32/],
    ["depth of YAML", "a.yaml", "[".repeat(20_000), /./],
    [
      "depth of blocks",
      "a.yaml",
      Array.from({ length: 600 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n"),
      /nested deeper/,
    ],
    [
      "number of values",
      "a.json",
      `{"mcpServers":{"a":[${"1,".repeat(limits.maxNodes)}1]}}`,
      /more than 100000 values/,
    ],
    ["aliases of themselves", "a.yaml", "a: &a [*a]", /nested deeper than 32/],
    ["aliases", "a.yaml", bomb(), /more than 100000 values|nested/],
    [
      "servers",
      "a.json",
      `{"mcpServers":{${Array.from({ length: 1_001 }, (_, index) => `"s${index}":{}`).join()}}}`,
      /more than 1000 servers/,
    ],
  ])("hold for the %s", async (_, path, text, words) => {
    const spent = startCpuTime();
    expect(await failure(text, path)).toMatch(words);
    expect(spent()).toBeLessThan(5_000);
  });

  it("of time hold for files with very many names", async () => {
    const keys = Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`).join("\n");
    const spent = startCpuTime();
    await failure(keys, "a.yaml");
    await failure(keys.replaceAll(":", " ="), "a.toml");
    expect(spent()).toBeLessThan(10_000);
  });
});

describe("any text", () => {
  const pieces = fc.array(
    fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ":",
      ",",
      '"',
      "'",
      "=",
      "\n",
      "  ",
      "- ",
      "#",
      "//",
      "/*",
      "*a",
      "&a ",
      "<<",
      "\\",
      "\t",
      '"mcpServers":',
      "mcpServers:\n  a: {command: x}",
      "[mcp_servers.a]",
      "x",
      "1",
      "null",
      "\u0000",
      "|",
      "!!",
      "---",
      "%",
    ),
    { maxLength: 40 },
  );
  const seen = { ok: 0 };
  afterAll(() => expect(seen.ok).toBeGreaterThan(0));

  it.each(["a.json", "a.toml", "a.yaml", "a"])(
    "in %s is read, or refused by an error that has a place",
    async (path) => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            pieces.map((words) => words.join("")),
            fc.string({ unit: "binary" }),
          ),
          async (text) => {
            try {
              await parseConfig(text, { path });
              seen.ok++;
            } catch (error) {
              expect(error).toBeInstanceOf(McpError);
              expect((error as McpError).message).toMatch(new RegExp(`^${path}:\\d+:\\d+: .+`));
            }
          },
        ),
        { numRuns: 500 },
      );
    },
  );
});

/** A small text that would become a very large one. */
function bomb(): string {
  const lines = Array.from({ length: 9 }, (_, index) => `k${index + 1}: &k${index + 1} [${`*k${index},`.repeat(9)}]`);
  return ["k0: &k0 [x]", ...lines, "mcpServers: { a: *k9 }"].join("\n");
}
