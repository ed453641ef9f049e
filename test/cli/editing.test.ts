import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { dialects } from "../../src/config/dialects.ts";
import { createHome, json, plugbay, shopFile } from "./support/cli.ts";

// Commands that change configuration files.

const built: string = "../../dist/node/host.js";

describe("install", () => {
  it.each(dialects.map(({ name }) => name))("writes a file of %s that a host opens", async (dialect) => {
    const { openHost }: typeof import("../../src/host/index.ts") = await import(built);
    const home = createHome();
    home.write("demo/package.json", { name: "demo", bin: { demo: shopFile } });
    const ended = await plugbay(home, ["install", "demo", "--for", dialect, "--json"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    const { path } = json(ended) as { path: string };
    await using host = await openHost(path);
    expect((await host.listTools()).map(({ localName }) => localName)).toContain("buy");
    // The same name is a target, without saying in which file it is.
    const called = await plugbay(home, ["call", "demo:buy", "sku=A1"]);
    expect(called).toEqual({ code: 0, stdout: '{"sku":"A1"}\n', stderr: "" });
  });

  it("takes a file that exports a server, and a server of another file", async () => {
    const { openHost }: typeof import("../../src/host/index.ts") = await import(built);
    const home = createHome();
    expect(await plugbay(home, ["install", shopFile, "--for", "cursor", "--name", "one"])).toMatchObject({ code: 0 });
    expect(await plugbay(home, ["install", "one", "--for", "codex", "--name", "two"])).toMatchObject({ code: 0 });
    await using host = await openHost(join(home.folder, ".codex", "config.toml"));
    expect((await host.listTools()).map(({ server }) => server)).toContain("two");
  });

  it("keeps variables in the words of the other dialect, and says what it leaves out", async () => {
    const home = createHome();
    home.write(".cursor/mcp.json", {
      mcpServers: { far: { url: "https://example.com/mcp", headers: { Authorization: `Bearer \${env:TOKEN}` } } },
    });
    const zed = await plugbay(home, ["install", "far", "--for", "zed", "--file", "settings.json"]);
    expect(zed).toMatchObject({ code: 0, stderr: expect.stringContaining("headers.Authorization is left out") });
    const desktop = await plugbay(home, ["install", "far", "--for", "claude-desktop"]);
    expect(desktop).toMatchObject({ code: 2, stderr: expect.stringContaining("programs only") });
    expect(await plugbay(home, ["install", "far", "--for", "codex"])).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(home.folder, ".codex/config.toml"), "utf8")).toContain('bearer_token_env_var = "TOKEN"');
  });

  it.each([
    ["nothing", []],
    ["no editor", ["demo"]],
    ["an editor that is not known", ["demo", "--for", "nobody"]],
    ["a server that is not there", ["demo", "--for", "cursor"]],
    ["both files", ["demo", "--for", "cursor", "--user", "--project"]],
  ])("ends with 2 for %s", async (_, args) => {
    expect(await plugbay(createHome(), ["install", ...args])).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("add, remove and undo", () => {
  const text = `{
  // mine
  "mcpServers": {
    "old": { "command": "old" } // stays
  }
}
`;

  it("keep comments, and bring the file back", async () => {
    const home = createHome();
    const path = home.write("mcp.json", text);
    const added = await plugbay(home, ["add", "new", "-e", "API_KEY=hunter2", "--", "node", "new.js"]);
    expect(added).toMatchObject({ code: 0, stdout: `added new to ${path}\n` });
    const after = readFileSync(path, "utf8");
    for (const kept of ["// mine", "// stays", '"hunter2"', '"new.js"']) expect(after).toContain(kept);
    expect(await plugbay(home, ["remove", "new"])).toMatchObject({ code: 0 });
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(await plugbay(home, ["undo"])).toMatchObject({ code: 0 });
    expect(readFileSync(path, "utf8")).toBe(after);
    expect(await plugbay(home, ["undo"])).toMatchObject({ code: 2, stderr: expect.stringContaining("no change") });
  });

  it("take a new file away again, which only its owner could read", async () => {
    const home = createHome();
    const ended = await plugbay(home, ["add", "docs", "https://example.com/mcp", "--for", "vscode", "--json"]);
    const path = join(home.folder, ".vscode", "mcp.json");
    expect(json(ended)).toMatchObject({ path, changed: true });
    expect(statSync(path).mode & 0o077).toBe(0);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      servers: { docs: { type: "http", url: "https://example.com/mcp" } },
    });
    expect(await plugbay(home, ["undo"])).toMatchObject({ code: 0 });
    expect(existsSync(path)).toBe(false);
  });

  it("change nothing with --dry-run, and show no secret", async () => {
    const home = createHome();
    const path = home.write("mcp.json", text);
    const { code, stdout } = await plugbay(home, ["add", "new", "--dry-run", "-e", "API_KEY=hunter2", "--", "node"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\+ +"command": "node"/m);
    expect(stdout).not.toContain("hunter2");
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(await plugbay(home, ["remove", "old", "--dry-run"])).toMatchObject({ code: 0 });
    expect(readFileSync(path, "utf8")).toBe(text);
  });

  it("leave a file alone that somebody else has changed since", async () => {
    const home = createHome();
    const path = home.write("mcp.json", text);
    await plugbay(home, ["remove", "old"]);
    home.write("mcp.json", `${readFileSync(path, "utf8")}\n// more\n`);
    expect(await plugbay(home, ["undo"])).toMatchObject({ code: 2, stderr: expect.stringContaining("left alone") });
  });

  it.each([
    ["a name alone", ["add", "new"], "a URL or a command"],
    ["what is no URL", ["add", "new", "example.com"], "not a URL"],
    ["a name that is taken", ["add", "old", "https://example.com"], "--replace"],
    ["a header of a program", ["add", "new", "-H", "a: b", "--", "node"], "--header"],
    ["a name that is not there", ["remove", "odl"], "did you mean old"],
    ["a name of another file", ["remove", "old", "--for", "cursor"], "no such file"],
  ])("end with 2 for %s", async (_, args, said) => {
    const home = createHome();
    home.write("mcp.json", text);
    expect(await plugbay(home, args)).toMatchObject({ code: 2, stderr: expect.stringContaining(said) });
  });

  it("end with 2 for a file that cannot be read, and leave it", async () => {
    const home = createHome();
    const path = home.write("mcp.json", "{ no");
    expect(await plugbay(home, ["add", "new", "https://example.com"])).toMatchObject({ code: 2 });
    expect(readFileSync(path, "utf8")).toBe("{ no");
  });
});

describe("config convert", () => {
  it.each(dialects.map(({ name }) => name))("writes %s, which reads back the same", async (dialect) => {
    const home = createHome();
    const env = { A: `\${A}`, B: "b" };
    home.write("mcp.json", { mcpServers: { one: { command: "one", args: ["x"], env, disabled: true } } });
    const ended = await plugbay(home, ["config", "convert", "mcp.json", dialect, "--json"]);
    expect(ended.code).toBe(0);
    const { text, warnings } = json(ended) as { text: string; warnings: readonly string[] };
    const { parseConfig, resolveConfig } = await import("../../src/config/web.ts");
    const file = dialect === "codex" ? "config.toml" : /goose|librechat/.test(dialect) ? "a.yaml" : "a.json";
    const config = await resolveConfig([await parseConfig(text, { path: file, dialect })], { env: { A: "a" } });
    const isLost = warnings.some((warning) => warning.includes("env.A"));
    const [server] = config.servers;
    expect(server?.target).toMatchObject({ command: "one", args: ["x"], env: { B: "b" } });
    const target = server?.target as { env?: Record<string, string>; inheritEnv?: readonly string[] };
    expect([target.env?.A === "a", target.inheritEnv?.includes("A") === true, isLost]).toContain(true);
  });

  it("ends with 2 for what the dialect cannot say, and for what it does not know", async () => {
    const home = createHome();
    home.write("mcp.json", { mcpServers: { far: { url: `https://\${HOST}/mcp` } } });
    const zed = await plugbay(home, ["config", "convert", "mcp.json", "zed"]);
    expect(zed).toMatchObject({ code: 2, stderr: expect.stringContaining("write its value") });
    const unknown = await plugbay(home, ["config", "convert", "mcp.json", "curser"]);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean cursor") });
    expect(await plugbay(home, ["config", "convert", "none.json", "zed"])).toMatchObject({ code: 2 });
  });
});
