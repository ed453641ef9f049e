// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in configuration files look like that
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findConfigFiles, loadConfig } from "../../src/config/node/load-config.ts";
import { McpError } from "../../src/protocol/errors.ts";

/** A folder with these files in it. */
function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), "plugbay-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const empty = '{ "mcpServers": {} }';

describe("loadConfig", () => {
  it("reads files of several dialects, with what they name, as this process sees them", async () => {
    const folder = folderWith({
      ".vscode/mcp.json":
        '{ "servers": { "a": { "command": "x", "args": ["${workspaceFolder}", "${userHome}"], "envFile": ".env" } } }',
      ".env": "FROM_FILE=1",
      ".codex/config.toml": '[mcp_servers.b]\nurl = "http://localhost/mcp"\nbearer_token_env_var = "PLUGBAY_TEST"',
    });
    const files = [join(folder, ".vscode/mcp.json"), join(folder, ".codex/config.toml")];
    const { servers, problems } = await loadConfig(files, { env: { PLUGBAY_TEST: "t" } });
    expect(problems).toEqual([]);
    expect(servers.map(({ target }) => target)).toEqual([
      { command: "x", args: [folder, homedir()], env: { FROM_FILE: "1" } },
      { url: "http://localhost/mcp", headers: { authorization: "Bearer t" } },
    ]);
  });

  it("takes variables from the environment of this process", async () => {
    const folder = folderWith({ "mcp.json": '{ "mcpServers": { "a": { "command": "x", "args": ["${PATH}"] } } }' });
    const { servers } = await loadConfig(join(folder, "mcp.json"));
    expect(servers).toMatchObject([{ target: { args: [process.env.PATH] } }]);
  });

  it("takes a file of the user for one of every project", async () => {
    const home = folderWith({
      ".cursor/mcp.json": '{ "mcpServers": { "a": { "command": "x", "args": ["${workspaceFolder}"] } } }',
    });
    const { servers } = await loadConfig(join(home, ".cursor/mcp.json"), { userHome: home });
    expect(servers).toMatchObject([{ target: { args: [process.cwd()] } }]);
    const { files } = await loadConfig("~/.cursor/mcp.json", { userHome: home });
    expect(files).toMatchObject([{ path: join(home, ".cursor/mcp.json") }]);
  });

  it("keeps the folder of a project beside files of the user", async () => {
    const text = '{ "mcpServers": { "NAME": { "command": "x", "args": ["${workspaceFolder}"] } } }';
    const home = folderWith({ ".cursor/mcp.json": text.replace("NAME", "user") });
    const project = folderWith({ ".cursor/mcp.json": text.replace("NAME", "project") });
    const files = [home, project].map((folder) => join(folder, ".cursor/mcp.json"));
    const { servers } = await loadConfig(files, { userHome: home });
    expect(servers.map(({ target }) => "args" in target && target.args)).toEqual([[process.cwd()], [project]]);
    const told = await loadConfig(files, { userHome: home, workspaceFolder: "/told" });
    expect(told.servers.map(({ target }) => "args" in target && target.args)).toEqual([["/told"], ["/told"]]);
  });

  it("can be told the dialect", async () => {
    const folder = folderWith({ "my.json": '{ "mcpServers": { "a": { "command": "x", "timeout": 3 } } }' });
    const { servers } = await loadConfig({ path: join(folder, "my.json"), dialect: "cline" });
    expect(servers).toMatchObject([{ callTimeoutMs: 3_000 }]);
  });

  it.each([
    ["none.json", {}, "there is no such file"],
    ["a/none.json", { a: "x" }, "there is no such file"],
    ["mcp.json", { "mcp.json": new Uint8Array([0x7b, 0xff, 0xfe]) }, "the file is not UTF-8"],
    ["folder", { "folder/x": "" }, "the file cannot be read: "],
    ["mcp.json", { "mcp.json": " ".repeat(4_000_000) }, "the file cannot be read: the file is too long"],
  ])("rejects for %s of %j", async (name, files, message) => {
    const path = join(folderWith(files), name);
    const error = await loadConfig(path).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(McpError);
    expect(error).toMatchObject({
      code: "invalid-config",
      data: { path },
      message: expect.stringContaining(`${path}: ${message}`),
    });
  });
});

describe("findConfigFiles", () => {
  it("finds what exists, those of the user first", async () => {
    const home = folderWith({
      ".cursor/mcp.json": empty,
      ".config/zed/settings.json": "{}",
      ".gemini/settings.json": "{}",
    });
    const cwd = folderWith({ ".mcp.json": empty, ".vscode/mcp.json": '{ "servers": {} }', "opencode.jsonc": "{}" });
    const found = await findConfigFiles({ cwd, home, platform: "linux", env: {} });
    expect(found).toEqual([
      { path: join(home, ".cursor/mcp.json"), dialect: "cursor", app: "Cursor", scope: "user" },
      { path: join(home, ".gemini/settings.json"), dialect: "gemini", app: "Gemini CLI", scope: "user" },
      { path: join(home, ".config/zed/settings.json"), dialect: "zed", app: "Zed", scope: "user" },
      { path: join(cwd, ".mcp.json"), dialect: "claude-code", app: "Claude Code", scope: "project" },
      { path: join(cwd, ".vscode/mcp.json"), dialect: "vscode", app: "VS Code", scope: "project" },
      { path: join(cwd, "opencode.jsonc"), dialect: "opencode", app: "opencode", scope: "project" },
    ]);
    expect((await loadConfig(found)).servers).toEqual([]);
  });

  it("finds each file once, also in the home of the user", async () => {
    const home = folderWith({ ".cursor/mcp.json": empty });
    const found = await findConfigFiles({ cwd: home, home, platform: "linux", env: {} });
    expect(found).toMatchObject([{ dialect: "cursor", scope: "user" }]);
  });

  it("looks at this machine when it is told no other", async () => {
    for (const { path } of await findConfigFiles()) expect(path).toMatch(/^(?:\/|[A-Z]:)/);
  });
});
