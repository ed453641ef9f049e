// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in configuration files look like that
import { describe, expect, it } from "vitest";
import type { DialectName } from "./dialects.ts";
import type { ConfigEnvironment } from "./environment.ts";
import type { ConfigInput } from "./inputs.ts";
import { parseConfig } from "./parse-config.ts";
import { formatConfigProblem } from "./problem.ts";
import { type Config, parseConfigObject, resolveConfig } from "./resolve-config.ts";

/** One server called `a`, in a file of a dialect. */
async function resolveEntry(
  entry: object,
  environment: ConfigEnvironment = {},
  dialect: DialectName = "generic",
): Promise<Config> {
  return resolveConfig(
    [parseConfigObject({ mcpServers: { a: entry } }, { path: "/home/mcp.json", dialect })],
    environment,
  );
}

function problemsOf({ problems }: Config): readonly string[] {
  return problems.map((problem) => `${problem.level}: ${formatConfigProblem(problem)}`);
}

describe("C136: names of servers", () => {
  it("are not empty, are there once, and have no separator in them", async () => {
    const entry = { command: "x" };
    const { servers, problems } = await resolveConfig([
      parseConfigObject({ mcpServers: { "": entry, "a:b": entry, ok: entry } }),
    ]);
    expect(servers.map(({ name }) => name)).toEqual(["ok"]);
    expect(problems.map(({ server }) => server)).toEqual(["", "a:b"]);
    const twice = parseConfig('{ "mcpServers": { "a": {}, "a": {} } }', { path: "a.json" });
    await expect(twice).rejects.toThrow("a.json:1:28: a is there twice; the first is at a.json:1:19");
  });

  it.each(["a\u0000", "a\u202eb", "a\u200b", "a\n", "x".repeat(129)])("are not %j", async (name) => {
    const { servers, problems } = await resolveConfig([
      parseConfigObject({ mcpServers: { [name]: { command: "x" } } }),
    ]);
    expect(servers).toEqual([]);
    expect(problems).toHaveLength(1);
    expect(formatConfigProblem(problems[0] ?? expect.fail())).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it.each(["my server", "Überwachung", "a/b", "a.b", "constructor", "__proto__"])("may be %s", async (name) => {
    const file = await parseConfig(`{ "mcpServers": { ${JSON.stringify(name)}: { "command": "x" } } }`, {
      path: "a.json",
    });
    expect((await resolveConfig([file])).servers.map((server) => server.name)).toEqual([name]);
  });
});

describe("several files", () => {
  const parse = (path: string, servers: object) => parseConfigObject({ mcpServers: servers }, { path });

  it("are put together: a later one replaces whole servers of earlier ones", async () => {
    const { servers, origins, files } = await resolveConfig([
      parse("user.json", { a: { command: "1", env: { X: "1" } }, b: { command: "1" } }),
      parse("project.json", { a: { command: "2" }, c: { command: "2" } }),
      parse("local.json", { a: { url: "http://localhost" } }),
    ]);
    expect(servers.map(({ name, target }) => [name, target])).toEqual([
      ["a", { url: "http://localhost" }],
      ["b", { command: "1", args: [] }],
      ["c", { command: "2", args: [] }],
    ]);
    expect(origins[0]?.replaces).toEqual([{ path: "user.json" }, { path: "project.json" }]);
    expect(files.map(({ path }) => path)).toEqual(["user.json", "project.json", "local.json"]);
  });

  it("fail for a server whose last entry is wrong, instead of using another one", async () => {
    const { servers, problems } = await resolveConfig([parse("1", { a: { command: "x" } }), parse("2", { a: {} })]);
    expect(servers).toEqual([]);
    expect(problems).toMatchObject([{ level: "error", server: "a", place: { path: "2" } }]);
  });
});

describe("variables", () => {
  it("that are missing are told with file, place, server, field and what to do", async () => {
    const text = '{ "mcpServers": {\n  "shop": {\n    "command": "x",\n    "env": { "KEY": "${SHOP_KEY}" } } } }';
    const config = await resolveConfig([await parseConfig(text, { path: "mcp.json" })], { env: {} });
    expect(config.servers).toEqual([]);
    expect(config.problems).toEqual([
      {
        level: "error",
        place: { path: "mcp.json", line: 4, column: 21 },
        server: "shop",
        field: "env.KEY",
        variable: "SHOP_KEY",
        message: "env.KEY needs the variable SHOP_KEY, which is not set",
        hint: "set SHOP_KEY, or write ${SHOP_KEY:-…} to have a default",
      },
    ]);
  });

  it("that are missing stay in the text, if it may be so", async () => {
    const config = await resolveEntry({ command: "x", args: ["${A}", "${B:-b}"] }, { lenient: true });
    expect(config.servers).toMatchObject([{ target: { args: ["${A}", "b"] } }]);
    expect(problemsOf(config)).toEqual([expect.stringMatching(/^warning: .*args\[0\] needs the variable A/)]);
  });

  it("may be empty, but then a default counts", async () => {
    const env = { A: "" };
    const { servers } = await resolveEntry({ command: "x", args: ["${A}", "${A:-b}"] }, { env });
    expect(servers).toMatchObject([{ target: { args: ["", "b"] } }]);
  });

  it("are not looked for in what they bring", async () => {
    const env = { A: "${B} $B {env:B} ${input:x}", B: "no" };
    const { servers } = await resolveEntry({ command: "x", args: ["${A}"] }, { env });
    expect(servers).toMatchObject([{ target: { args: ["${B} $B {env:B} ${input:x}"] } }]);
  });

  it("are no members of objects that happen to be there", async () => {
    const config = await resolveEntry(
      { command: "x", args: ["${toString}", "${__proto__}", "${constructor}"] },
      { env: {} },
    );
    expect(config.problems.map(({ variable }) => variable)).toEqual(["toString", "__proto__", "constructor"]);
  });

  it("of the entry itself are left for the program", async () => {
    const entry = { command: "npx", args: ["mcp-remote", "--header", "Auth:${TOKEN}"], env: { TOKEN: "t" } };
    for (const dialect of ["generic", "claude-desktop", "cursor", "claude-code"] as const) {
      const config = await resolveEntry(entry, {}, dialect);
      expect(config.servers).toMatchObject([{ target: { args: ["mcp-remote", "--header", "Auth:${TOKEN}"] } }]);
      expect(config.problems).toEqual([]);
    }
  });

  it("in the way of another dialect are a warning", async () => {
    const config = await resolveEntry({ command: "x", args: ["${HOME}"] }, { env: { HOME: "/h" } }, "cursor");
    expect(config.servers).toMatchObject([{ target: { args: ["${HOME}"] } }]);
    expect(problemsOf(config)).toEqual([
      "warning: /home/mcp.json: a: args[0] has ${HOME} in it, which stays as it is (write ${env:HOME})",
    ]);
  });

  it("cannot make a value as long as they like", async () => {
    const config = await resolveEntry(
      { command: "x", args: ["${A}".repeat(1_000)] },
      { env: { A: "x".repeat(1_000) } },
    );
    expect(problemsOf(config)).toEqual([expect.stringMatching(/args\[0\] becomes longer than 262144$/)]);
  });

  it("know places", async () => {
    const args = ["${workspaceFolder}${/}a", "${workspaceFolderBasename}", "${userHome}", "${pathSeparator}"];
    const environment = { workspaceFolder: "C:\\work\\shop", userHome: "C:\\Users\\ada", pathSeparator: "\\" };
    const { servers } = await resolveEntry({ command: "x", args }, environment);
    expect(servers).toMatchObject([{ target: { args: ["C:\\work\\shop\\a", "shop", "C:\\Users\\ada", "\\"] } }]);
    const unknown = await resolveConfig([parseConfigObject({ a: { command: "x", args } })]);
    expect(unknown.problems.map(({ message }) => message)).toEqual([
      "args[0] needs workspaceFolder, which is not known here",
      "args[1] needs workspaceFolderBasename, which is not known here",
      "args[2] needs userHome, which is not known here",
    ]);
  });
});

describe("inputs", () => {
  const inputs = [
    { id: "key", type: "promptString", description: "The key", password: true },
    { id: "size", type: "pickString", options: ["s", "m"], default: "m" },
    { id: "run", type: "command", command: "some.command" },
  ];
  const file = (servers: object) => parseConfigObject({ inputs, servers }, { path: "/home/.vscode/mcp.json" });

  it("are asked for once, in turn, and only for servers that are switched on", async () => {
    const asked: ConfigInput[] = [];
    const onInput = async (input: ConfigInput): Promise<string> => {
      asked.push(input);
      return input.id;
    };
    const { servers } = await resolveConfig(
      [
        file({
          a: { command: "x", args: ["${input:key}", "${input:key}"] },
          b: { command: "x", env: { K: "${input:key}" } },
          c: { command: "x", disabled: true, args: ["${input:size}"] },
        }),
      ],
      { onInput },
    );
    expect(asked).toMatchObject([{ id: "key", type: "prompt", description: "The key", password: true }]);
    expect(servers.map(({ target }) => target)).toEqual([
      { command: "x", args: ["key", "key"] },
      { command: "x", args: [], env: { K: "key" } },
      { command: "x", args: ["${input:size}"] },
    ]);
  });

  it("that are known are not asked for; without an answer the default counts", async () => {
    const known = await resolveConfig([file({ a: { command: "x", args: ["${input:key}", "${input:size}"] } })], {
      inputs: { key: "k" },
      onInput: () => undefined,
    });
    expect(known.servers).toMatchObject([{ target: { args: ["k", "m"] } }]);
  });

  it.each([
    ["${input:key}", {}, /needs the input key, which was not given/],
    ["${input:key}", { onInput: () => undefined }, /which was not answered/],
    ["${input:run}", { onInput: () => "x" }, /which a command would give; commands are not run/],
    ["${input:none}", { onInput: () => "x" }, /needs the input none, which is not defined/],
    [
      "${input:size}",
      { inputs: { size: "xl" } },
      /has a value for size that is not one of its options \(pick one of s, m\)/,
    ],
    ["${input:toString}", { inputs: {} }, /needs the input toString, which is not defined/],
  ])("%s with %j is a problem", async (arg, environment: ConfigEnvironment, words) => {
    const config = await resolveConfig([file({ a: { command: "x", args: [arg] } })], environment);
    expect(problemsOf(config)).toEqual([expect.stringMatching(words)]);
  });
});

describe("files that a file names", () => {
  const readText = async (path: string): Promise<string | undefined> =>
    ({ "/home/a.env": "A=1\nB=2", "/home/ada/b.env": "A=3", "/home/bad.env": "A=1\nnot a line", "/home/token": "t\n" })[
      path
    ];

  it("give variables, over which the entry's own count", async () => {
    const { servers, files } = await resolveEntry({ command: "x", env: { B: "own" }, envFile: "a.env" }, { readText });
    expect(servers).toMatchObject([{ target: { env: { A: "1", B: "own" } }, envFile: "/home/a.env" }]);
    expect(files).toEqual([
      { path: "/home/mcp.json", kind: "config", dialect: "generic" },
      { path: "/home/a.env", kind: "value" },
    ]);
  });

  it("can be in the home of the user", async () => {
    const { servers } = await resolveEntry({ command: "x", envFile: "~/b.env" }, { readText, userHome: "/home/ada" });
    expect(servers).toMatchObject([{ target: { env: { A: "3" } } }]);
  });

  it.each<[object, DialectName, string]>([
    [
      { command: "x", envFile: "none.env" },
      "generic",
      "/home/mcp.json: a: envFile names a file that cannot be read (create it, or correct the path)",
    ],
    [
      { command: "x", envFile: "bad.env" },
      "generic",
      "/home/bad.env:2:1: a: envFile names a file in which this line is not NAME=value",
    ],
    [
      { url: "http://x", headers: { A: "{file:none}" } },
      "opencode",
      "/home/mcp.json: a: headers.A needs the file none, which cannot be read (create it, or correct the path)",
    ],
  ])("are missed: %j", async (entry, dialect, message) => {
    const file = parseConfigObject(dialect === "opencode" ? { mcp: { a: entry } } : { a: entry }, {
      path: "/home/mcp.json",
      dialect,
    });
    const config = await resolveConfig([file], { readText });
    expect(problemsOf(config)).toEqual([`error: ${message}`]);
    expect(config.files).toHaveLength(2);
  });

  it("cannot break a header", async () => {
    const entry = { url: "http://x", headers: { A: "{file:two}" } };
    const config = await resolveConfig([parseConfigObject({ mcp: { a: entry } })], {
      readText: async () => "one\r\nX: two",
    });
    expect(problemsOf(config)).toEqual([expect.stringMatching(/headers.A has a character that a header cannot have$/)]);
  });

  it("are not read where nobody can, and a reader that fails is no failure", async () => {
    expect((await resolveEntry({ command: "x", envFile: "a.env" })).problems).toHaveLength(1);
    const failing = { readText: () => Promise.reject(new Error("EACCES")) };
    expect((await resolveEntry({ command: "x", envFile: "a.env" }, failing)).problems).toHaveLength(1);
  });
});

describe("servers that are switched off", () => {
  it.each([{ enabled: false }, { disabled: true }, { enabled: true, disabled: true }])(
    "by %j need no values",
    async (off) => {
      const config = await resolveEntry({ command: "x", args: ["${NONE}"], envFile: "none", ...off });
      expect(config.servers).toMatchObject([{ enabled: false, target: { args: ["${NONE}"] } }]);
      expect(config.problems).toEqual([]);
    },
  );
});

describe("commands", () => {
  it.each([
    "/Applications/My App.app/Contents/MacOS/server",
    "C:\\Program Files\\nodejs\\node.exe",
    "./my server",
    "npx",
  ])("may be %s", async (command) => {
    expect((await resolveEntry({ command })).problems).toEqual([]);
  });

  it.each([
    "npx -y server",
    "cd x && node y",
    "/usr/bin/node --inspect x.js",
    "/bin/sh /tmp/x",
    "npx mcp-remote https://x",
  ])("are no command lines: %s", async (command) => {
    expect(problemsOf(await resolveEntry({ command }))).toEqual([
      expect.stringMatching(/command is a whole command line \(write the program/),
    ]);
  });

  it("are started without what belongs to a URL, and the other way round", async () => {
    const program = await resolveEntry({ type: "stdio", command: "x", url: "http://x", headers: { a: "b" } });
    expect(program.servers).toMatchObject([{ target: { command: "x", args: [] } }]);
    expect(program.origins[0]?.ignored.map(({ field }) => field)).toEqual(["url", "headers.a"]);
    const far = await resolveEntry({ type: "http", command: "x", args: ["y"], cwd: "z", url: "http://x" });
    expect(far.servers).toMatchObject([{ target: { url: "http://x", type: "http" } }]);
    expect(far.origins[0]?.ignored.map(({ field }) => field)).toEqual(["command", "args[0]", "cwd"]);
  });
});

describe("types", () => {
  it.each([
    ["http", "http"],
    ["streamable-http", "http"],
    ["streamableHttp", "http"],
    ["streamable_http", "http"],
    ["HTTP", "http"],
    ["sse", "sse"],
    ["remote", undefined],
  ])("%s of a URL is %s", async (type, expected) => {
    const { servers } = await resolveEntry({ url: "http://x", type });
    expect(servers).toEqual([
      expect.objectContaining({ target: { url: "http://x", ...(expected && { type: expected }) } }),
    ]);
  });

  it.each(["stdio", "local", "STDIO"])("%s is a program", async (type) => {
    expect((await resolveEntry({ command: "x", transport: type })).problems).toEqual([]);
  });
});
