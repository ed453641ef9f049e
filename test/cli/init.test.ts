import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { chmodSync, existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";
import { createWorkspace, type Project, type Workspace } from "../package/project.ts";
import { serveRegistry } from "../package/registry.ts";
import { createHome, type Home, json, plugbay } from "./support/cli.ts";

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

/** A server of stdio is asked for a greeting. */
const session = [
  {
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  },
  { method: "notifications/initialized" },
  { id: 2, method: "tools/call", params: { name: "greet", arguments: { name: "Ada" } } },
]
  .map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  .join("");

/** A home without a network, in which `plugbay` is the packed package. */
function createOffline(): Home & { readonly env: Readonly<Record<string, string>> } {
  const home = createHome();
  const script = home.write("bin/plugbay", `#!/bin/sh\nexec "${process.execPath}" "${workspace.program}" "$@"\n`);
  chmodSync(script, 0o755);
  return {
    ...home,
    env: {
      ...home.env,
      PATH: `${join(home.folder, "bin")}:${home.env.PATH}`,
      npm_config_registry: "http://127.0.0.1:9",
      npm_config_cache: join(home.folder, "cache"),
      npm_config_update_notifier: "false",
    },
  };
}

/** Runs a line in a shell of its own group. `onOutput` hears all that it has written. */
function shell(
  line: string,
  { folder: cwd, env }: Pick<Home, "folder" | "env">,
  onOutput: (written: string, child: ChildProcessWithoutNullStreams) => void = (_, child) => void child.stdin.end(),
): Promise<{ readonly code: number | null; readonly written: string }> {
  const child = spawn("/bin/sh", ["-c", line], { cwd, env, detached: true });
  let written = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      written += text;
      onOutput(written, child);
    });
  }
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, written })));
}

/** Ctrl-C, as a terminal sends it. The group may be gone by then. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGINT");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

describe("init", () => {
  it("makes a project that is tested and served in under a minute, from the packed package, without a network", {
    timeout: patience,
  }, async () => {
    const home = createOffline();
    const startedAt = performance.now();
    const { code, written } = await shell(
      "plugbay init demo && cd demo && npm test && npm start",
      home,
      (said, { stdin }) => {
        if (/^> node main\.js$/m.test(said) && stdin.writable) stdin.end(session);
      },
    );
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`init, npm test and npm start took ${seconds.toFixed(1)} s`);
    expect({ code, written }).toEqual({
      code: 0,
      written: expect.stringContaining("cd demo && npm test && npm start"),
    });
    expect(written).toMatch(/pass 2$/m);
    expect(written).toContain("Hello, Ada!");
    expect(seconds).toBeLessThan(60);

    const demo = { ...home, folder: join(home.folder, "demo") };
    const called = await shell("npx --offline plugbay call ./server.js greet name=Ada", demo);
    expect(called).toEqual({ code: 0, written: "Hello, Ada!\n" });
    const served = await shell("npm run dev -- 0", demo, (said, { pid = 0 }) => {
      if (/serving at http/.test(said)) endGroup(pid);
    });
    expect(served.written).toMatch(/^serving at http:\/\/127\.0\.0\.1:\d+\/mcp$/m);
  });

  it("takes the packages of a folder above where there are some", { timeout: patience }, async () => {
    const args = [workspace.program, "init", "found", "--json"];
    const { stdout } = await run(process.execPath, args, { cwd: project.folder });
    expect(JSON.parse(stdout)).toMatchObject({ packages: "found" });
  });

  it("links the running package where npm cannot install", { timeout: patience }, async () => {
    const home = createOffline();
    const ended = await plugbay(home, ["init", "demo", "--json"]);
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

describe("npm create plugbay", () => {
  it("makes a project whose packages npm installs, from the registry", { timeout: patience }, async () => {
    await workspace.add("./packages/create-plugbay");
    await using registry = await serveRegistry([workspace.modules, join(root, "node_modules")]);
    const offline = createOffline();
    const home = { ...offline, env: { ...offline.env, npm_config_registry: registry.url, npm_config_yes: "true" } };
    const { code, written } = await shell("npm create plugbay demo && cd demo && npm test", home);
    expect({ code, written }).toEqual({ code: 0, written: expect.stringContaining("made demo") });
    expect(written).toMatch(/pass 2$/m);
    expect([...registry.fetched]).toEqual(expect.arrayContaining(["create-plugbay", "plugbay", "jose"]));
    expect(lstatSync(join(home.folder, "demo", "node_modules", "plugbay")).isSymbolicLink()).toBe(false);
  });

  it("makes a project in TypeScript that compiles and is tested", { timeout: patience }, async () => {
    await using registry = await serveRegistry([workspace.modules, join(root, "node_modules")]);
    const offline = createOffline();
    const home = { ...offline, env: { ...offline.env, npm_config_registry: registry.url } };
    const { code, written } = await shell(
      "plugbay init demo --typescript && cd demo && npm test && npm run check",
      home,
    );
    expect({ code, written }).toEqual({ code: 0, written: expect.stringMatching(/pass 2$/m) });
  });

  it("takes the plugbay that it was released with", () => {
    const [own, create] = ["package.json", "packages/create-plugbay/package.json"].map((path) =>
      JSON.parse(readFileSync(join(root, path), "utf8")),
    );
    expect(create).toMatchObject({ version: own.version, dependencies: { plugbay: `^${own.version}` } });
    expect(create.private).toBe(undefined);
  });
});
