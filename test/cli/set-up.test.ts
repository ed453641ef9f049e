import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { commandRows } from "../../src/cli/commands.ts";
import { root } from "../e2e/support/places.ts";
import { createHome, type Home, json, plugbay, shop, shopFile } from "./support/cli.ts";

// The frame, and the commands about configuration, types and shells.

let home: Home;
beforeAll(() => {
  home = createHome();
  home.write("mcp.json", {
    mcpServers: {
      shop: { command: process.execPath, args: [shopFile], env: { API_KEY: "sk-1234567890abcdef" } },
      gone: { command: "no-such-program" },
      off: { command: process.execPath, disabled: true },
      keyed: { url: "http://127.0.0.1:9/mcp", headers: { authorization: `Bearer \${NO_SUCH_TOKEN}` } },
    },
  });
  home.write("user/.cursor/mcp.json", { mcpServers: { mine: { url: "https://example.com/mcp" } } });
});

describe("plugbay", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

  it.each([["--version"], ["-V"], ["--version", "--json"]])("%s %s tells the version", async (...args) => {
    const { code, stdout, stderr } = await plugbay(home, args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(version);
  });

  it("--help lists every command", async () => {
    const { code, stdout } = await plugbay(home, ["--help"]);
    expect(code).toBe(0);
    const named = commandRows.filter(({ hidden }) => hidden === undefined).map(({ name }) => name);
    expect(named.filter((name) => !new RegExp(`^ {2}${name} `, "m").test(stdout))).toEqual([]);
    expect(stdout).toContain("130");
  });

  it("--help --json is JSON for a program, of all commands and of each", async () => {
    const all = json(await plugbay(home, ["--help", "--json"]));
    const named = commandRows.filter(({ hidden }) => hidden === undefined);
    expect(all).toMatchObject({
      commands: named.map(({ name, summary }) => ({ name, summary })),
      exitCodes: expect.arrayContaining([{ code: 130, meaning: "interrupted" }]),
    });
    const call = json(await plugbay(home, ["call", "--help", "--json"]));
    expect(call).toMatchObject({
      name: "call",
      target: "one",
      usage: expect.arrayContaining([expect.stringContaining("plugbay call <target>")]),
      options: expect.arrayContaining([expect.objectContaining({ name: "--args", type: "text" })]),
    });
  });

  it("help is --help, of all commands or of one", async () => {
    expect(await plugbay(home, ["help"])).toEqual(await plugbay(home, ["--help"]));
    expect(await plugbay(home, ["help", "call"])).toEqual(await plugbay(home, ["call", "--help"]));
  });

  it("finds the command after an option that only the command has", async () => {
    const { code, stderr } = await plugbay(home, ["--port", "seven", "gateway"]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("--port") });
  });

  it("says which command was meant", async () => {
    const { code, stdout, stderr } = await plugbay(home, ["toosl"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("did you mean tools");
  });

  it("takes options before the command", async () => {
    const ended = await plugbay(home, ["--json", "--timeout", "5s", "tools", "shop"]);
    expect(json(ended)).toHaveProperty("tools");
  });

  it("tells an error with --json as one object, wherever it comes from", async () => {
    for (const args of [["toosl"], ["tools"], ["tools", "--nope"], ["tools", "none-of-this-name"]]) {
      const ended = await plugbay(home, [...args, "--json"]);
      expect(ended).toMatchObject({ code: 2, stderr: "" });
      expect(json(ended)).toEqual({ error: { code: "usage", message: expect.any(String), hint: expect.any(String) } });
    }
  });

  it("ends quietly when nobody reads its output any more", async () => {
    const { execFileSync } = await import("node:child_process");
    const line = `"${process.execPath}" "${join(root, "dist/node/plugbay.js")}" --help | head -1`;
    expect(execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" })).toMatch(/^plugbay: .*\n$/);
  });
});

describe("every command", () => {
  it.each(commandRows.map((row) => [row.name, row] as const))(
    "%s has help, with examples that name it",
    async (name, row) => {
      const { command } = await row.load();
      expect(command.name).toBe(name);
      expect(command.examples.length).toBeGreaterThanOrEqual(2);
      if (row.hidden !== true)
        expect(command.examples.filter(({ line }) => !line.includes(`plugbay ${name}`))).toEqual([]);
      const { code, stdout } = await plugbay(home, [name, "--help"]);
      expect(code).toBe(0);
      for (const text of [row.summary, "Usage", "Examples", command.examples[0]?.line ?? ""])
        expect(stdout).toContain(text);
    },
  );

  it("is on the page about the command line", () => {
    const page = readFileSync(join(root, "docs", "cli.md"), "utf8");
    const named = commandRows.filter(({ hidden }) => hidden === undefined).map(({ name }) => name);
    expect(named.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  });
});

describe("list", () => {
  it("lists servers of all files, starts nothing, and shows no secret", async () => {
    const { code, stdout } = await plugbay(home, ["list"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^shop +on +mcp\.json/m);
    expect(stdout).toMatch(/^off +off/m);
    expect(stdout).toMatch(/^mine +on +Cursor/m);
    expect(stdout).toContain("NO_SUCH_TOKEN");
    expect(stdout).not.toContain("1234567890abcdef");
  });

  it("says with --connect how each is, and ends with 3 when one is down", async () => {
    const ended = await plugbay(home, ["list", "--connect", "--config", "mcp.json", "--json"]);
    expect(ended.code).toBe(3);
    const { servers } = json(ended) as { servers: readonly { name: string; state: string }[] };
    const states = Object.fromEntries(servers.map(({ name, state }) => [name, state]));
    expect(states).toEqual({ shop: "ready", gone: "down", off: "off", keyed: "down" });
  });

  it("goes on after a file that cannot be read, and ends with 2", async () => {
    const other = createHome();
    other.write("mcp.json", "{");
    other.write(".cursor/mcp.json", { mcpServers: { fine: { url: "https://example.com/mcp" } } });
    const { code, stdout, stderr } = await plugbay(other, ["list"]);
    expect(code).toBe(2);
    expect(stdout).toContain("fine");
    expect(stderr).toContain("mcp.json:1:2");
  });

  it("says when there is nothing", async () => {
    expect(await plugbay(createHome(), ["list"])).toMatchObject({
      code: 0,
      stdout: "no configuration files were found\n",
    });
    expect(await plugbay(home, ["list", "more"])).toMatchObject({ code: 2 });
  });
});

describe("config", () => {
  it("shows the files, and whose they are", async () => {
    const { code, stdout } = await plugbay(home, ["config"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\.cursor\/mcp\.json +Cursor +user +mine$/m);
    expect(stdout).toMatch(/mcp\.json +mcp\.json +project +shop, gone, off, keyed$/m);
  });

  it("explains a server, without its secrets", async () => {
    const { code, stdout } = await plugbay(home, ["config", "explain", "shop"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^shop \(on\)/);
    expect(stdout).toContain("env.API_KEY");
    expect(stdout).not.toContain("1234567890abcdef");
  });

  it("ends with 2 for what cannot be used, and for what it does not know", async () => {
    expect(await plugbay(home, ["config", "explain", "keyed"])).toMatchObject({ code: 2 });
    const unknown = await plugbay(home, ["config", "explain", "shp"]);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean shop") });
    expect(await plugbay(home, ["config", "explian"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("explain"),
    });
    const broken = createHome();
    broken.write("mcp.json", "[");
    expect(await plugbay(broken, ["config"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("mcp.json:1:"),
    });
  });
});

describe("types", () => {
  it("writes types to stdout or a file", async () => {
    const { code, stdout } = await plugbay(home, ["types", "shop"]);
    expect(code).toBe(0);
    expect(stdout).toContain("export interface Shop {");
    expect(await plugbay(home, ["types", "--out", "types.ts", ...shop])).toMatchObject({ code: 0 });
    expect(readFileSync(join(home.folder, "types.ts"), "utf8")).toBe(stdout);
  });

  it("takes a configuration file for all that is on in it", async () => {
    home.write("two.json", {
      mcpServers: {
        one: { command: process.execPath, args: [shopFile] },
        two: { command: process.execPath, args: [shopFile] },
        off: { command: "no-such-program", disabled: true },
      },
    });
    const { code, stdout } = await plugbay(home, ["types", "two.json"]);
    expect(code).toBe(0);
    expect(stdout).toContain('"two:buy"');
    expect(stdout).not.toContain("off:");
  });
});

describe("completion", () => {
  it.each(["bash", "zsh", "fish"])("writes a script for %s", async (shell) => {
    const { code, stdout } = await plugbay(home, ["completion", shell]);
    expect(code).toBe(0);
    expect(stdout).toContain("plugbay completion words --");
  });

  it.each([
    ["a command", ["to"], ["tools"]],
    ["an option", ["tools", "--rev"], ["--revision"]],
    ["a value of an option", ["tools", "--revision", "2026"], ["2026-07-28"]],
    ["the name of a server", ["call", "sh"], ["shop"]],
    ["the name of a server after options", ["call", "--timeout", "5s", "-v", "sh"], ["shop"]],
    ["no name where a value is to be", ["call", "--timeout", "sh"], []],
    ["nothing that it does not know", ["call", "shop", "bu"], []],
  ])("completes %s", async (_, words, found) => {
    const ended = await plugbay(home, ["completion", "words", "--json", "--", ...words]);
    expect(json(ended)).toEqual({ words: found });
  });

  it("refuses other shells", async () => {
    expect(await plugbay(home, ["completion", "tcsh"])).toMatchObject({ code: 2 });
    expect(await plugbay(home, ["completion"])).toMatchObject({ code: 2 });
  });
});
