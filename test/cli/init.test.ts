import { execFile, spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createWorkspace, type Project, type Workspace } from "../package/project.ts";
import { createHome, json, plugbay } from "./support/cli.ts";

// A new project from the packed package, without a network.

const patience = 300_000;
const run = promisify(execFile);
let workspace: Workspace;
let project: Project;

beforeAll(async () => {
  workspace = await createWorkspace();
  project = await workspace.createProject({ compiler: "TypeScript 7.0", files: {}, hasNodeTypes: false });
}, patience);
afterAll(() => workspace[Symbol.asyncDispose]());

describe("init", () => {
  it("makes a project whose tests pass and that serves, from the packed package", { timeout: patience }, async () => {
    const program = join(project.folder, "..", "node_modules", "plugbay", "dist", "node", "plugbay.js");
    const { stdout } = await run(process.execPath, [program, "init", "demo"], { cwd: project.folder });
    expect(stdout).toContain("cd demo && npm test && npm start");
    const cwd = join(project.folder, "demo");
    const tested = await run("npm", ["test"], { cwd });
    expect(tested.stdout).toMatch(/pass 2$/m);
    const started = spawn("npm", ["start", "--silent"], { cwd, stdio: ["pipe", "pipe", "inherit"] });
    const call = { name: "greet", arguments: { name: "Ada" } };
    const session = [
      {
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
      },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: call },
    ];
    started.stdin.end(session.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
    let answered = "";
    for await (const text of started.stdout.setEncoding("utf8")) answered += text;
    expect(answered).toContain("Hello, Ada!");
  });

  it("links the running package where npm cannot install", { timeout: patience }, async () => {
    const home = createHome();
    const env = { npm_config_registry: "http://127.0.0.1:9", npm_config_cache: join(home.folder, "cache") };
    const ended = await plugbay(home, ["init", "demo", "--json"], { env });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(json(ended)).toMatchObject({ name: "demo", packages: "linked" });
    const called = await plugbay(home, ["call", "./demo/server.js", "greet", "name=Ada"]);
    expect(called).toMatchObject({ code: 0, stdout: "Hello, Ada!\n" });
  });

  it("writes TypeScript, and installs nothing when told so", async () => {
    const home = createHome();
    const ended = await plugbay(home, ["init", "My Demo", "--typescript", "--no-install", "--json"]);
    expect(json(ended)).toMatchObject({ name: "my-demo", packages: "none" });
    const manifest = JSON.parse(readFileSync(join(home.folder, "My Demo", "package.json"), "utf8"));
    expect(manifest).toMatchObject({ name: "my-demo", bin: { "my-demo": "./main.ts" } });
    expect(existsSync(join(home.folder, "My Demo", "node_modules"))).toBe(false);
  });

  it("refuses a folder that is not empty", async () => {
    const home = createHome();
    home.write("demo/file.txt", "mine");
    const ended = await plugbay(home, ["init", "demo"]);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("is not empty") });
  });
});

it("create-plugbay runs plugbay init", { timeout: patience }, async () => {
  const folder = join(project.folder, "create-plugbay");
  cpSync(join(import.meta.dirname, "..", "..", "packages", "create-plugbay"), folder, { recursive: true });
  const program = join(folder, "create-plugbay.js");
  const { stdout } = await run(process.execPath, [program, "other", "--no-install"], { cwd: project.folder });
  expect(stdout).toContain("made other");
});
