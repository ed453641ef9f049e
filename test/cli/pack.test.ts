import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { find } from "../../scripts/system-programs.mjs";
import { root } from "../e2e/support/places.ts";
import { until } from "../fixtures/children/processes.ts";
import { createHome, type Home, json, plugbay } from "./support/cli.ts";

// `plugbay pack`, as a real process. Bundles are opened by another program.

const python = find("python");
/** It looks like a token, and is none. */
const token = `ghp_${"a1B2".repeat(9)}`;

const manifest = {
  name: "@ada/demo",
  version: "1.2.3",
  description: "Greets",
  type: "module",
  bin: { demo: "./main.js" },
  author: "Ada <ada@example.com> (https://example.com/ada)",
  repository: { type: "git", url: "git+https://github.com/ada/demo.git" },
  homepage: "https://example.com/demo",
  license: "MIT",
  mcpName: "io.github.ada/demo",
  dependencies: { hello: "1.0.0" },
  devDependencies: { tester: "1.0.0" },
};

/** A project that serves, with what must not be packed in it. */
function createProject(more: object = {}): Home {
  const around = createHome();
  const home: Home = {
    ...around,
    folder: join(around.folder, "demo"),
    write: (path, content) => around.write(join("demo", path), content),
  };
  home.write("package.json", { ...manifest, ...more });
  home.write(
    "main.js",
    `#!/usr/bin/env node
import { createServer, tool } from "plugbay/server";
import { serveStdio } from "plugbay/stdio";
import { hello } from "hello";
const greet = tool({ description: "Greets", run: () => hello(process.env.WHO ?? "you") });
await serveStdio(createServer({ name: "demo", version: "1.2.3", tools: { greet } }));
`,
  );
  home.write(".env", "API_KEY=very-secret");
  home.write("keys/server.pem", "a key");
  home.write(".git/config", "[core]");
  home.write("node_modules/hello/package.json", { name: "hello", version: "1.0.0", type: "module", main: "hello.js" });
  home.write("node_modules/hello/hello.js", 'export { hello } from "./say.js";');
  home.write("node_modules/hello/say.js", 'export const hello = (who) => ["Hello", who].join(" ");');
  home.write("node_modules/hello/hello.d.ts", "export const hello: (who: string) => string;");
  home.write("node_modules/tester/package.json", { name: "tester", version: "1.0.0" });
  symlinkSync(root, join(home.folder, "node_modules", "plugbay"), "junction");
  return home;
}

/** Opens a bundle with a program that knows nothing of ours, which checks every file. */
function unzip(home: Home, bundle: string): string {
  const folder = join(home.folder, "opened");
  mkdirSync(folder);
  const program =
    "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])";
  execFileSync(python ?? "", ["-c", program, join(home.folder, bundle), folder]);
  return folder;
}

describe.skipIf(python === undefined)("a bundle", () => {
  it("has all that its server needs and nothing else, and is called from where it was opened", async () => {
    const home = createProject({ dependencies: { hello: "1.0.0", plugbay: "*" } });
    const ended = await plugbay(home, ["pack", "--mcpb", "--env", "API_KEY", "--env", "WHO?", "--json"]);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(json(ended)).toMatchObject({ bundle: { leftOut: [".env", "keys/server.pem"] } });
    const folder = unzip(home, "ada-demo-1.2.3.mcpb");
    expect(readdirSync(folder).toSorted()).toEqual(["main.js", "manifest.json", "node_modules", "package.json"]);
    const packages = readdirSync(join(folder, "node_modules"));
    expect(packages).toEqual(expect.arrayContaining(["hello", "plugbay", "jose"]));
    expect(packages.filter((name) => ["tester", "vitest", "typescript"].includes(name))).toEqual([]);
    expect(readdirSync(join(folder, "node_modules/hello")).toSorted()).toEqual(["hello.js", "package.json", "say.js"]);
    const elsewhere = { ...createHome(), folder };
    const called = await plugbay(elsewhere, ["call", "greet", "--env", "WHO=Ada", "--", process.execPath, "main.js"]);
    expect(called).toMatchObject({ code: 0, stdout: "Hello Ada\n" });
  });

  it("has a manifest that tells hosts how to start it, and what to ask for", async () => {
    const home = createProject();
    await plugbay(home, ["pack", "--mcpb", "--env", "API_KEY", "--env", "WHO?"]);
    const made = JSON.parse(readFileSync(join(unzip(home, "ada-demo-1.2.3.mcpb"), "manifest.json"), "utf8"));
    expect(made).toEqual({
      manifest_version: "0.3",
      name: "ada-demo",
      version: "1.2.3",
      description: "Greets",
      author: { name: "Ada", email: "ada@example.com", url: "https://example.com/ada" },
      repository: { type: "git", url: "https://github.com/ada/demo" },
      homepage: "https://example.com/demo",
      server: {
        type: "node",
        entry_point: "main.js",
        mcp_config: {
          command: "node",
          args: [`\${__dirname}/main.js`],
          env: { API_KEY: `\${user_config.api_key}`, WHO: `\${user_config.who}` },
        },
      },
      tools_generated: true,
      license: "MIT",
      compatibility: { runtimes: { node: ">=20" } },
      user_config: {
        api_key: expect.objectContaining({ type: "string", required: true, sensitive: true }),
        who: expect.objectContaining({ type: "string", required: false, sensitive: false, default: "" }),
      },
    });
  });

  it("is the same when it is made again", async () => {
    const home = createProject();
    const digest = (): string =>
      createHash("sha256")
        .update(readFileSync(join(home.folder, "ada-demo-1.2.3.mcpb")))
        .digest("hex");
    const first = json(await plugbay(home, ["pack", "--mcpb", "--json"]));
    expect(first).toMatchObject({ bundle: { sha256: digest() } });
    expect(json(await plugbay(home, ["pack", "--mcpb", "--json"]))).toEqual(first);
  });

  it("keeps what the project says of it in a manifest.json, and refuses what hosts would refuse", async () => {
    const home = createProject();
    home.write("manifest.json", { manifest_version: "0.3", display_name: "Demo", icon: "icon.png" });
    expect(await plugbay(home, ["pack", "--mcpb"])).toMatchObject({ code: 0 });
    const made = JSON.parse(readFileSync(join(unzip(home, "ada-demo-1.2.3.mcpb"), "manifest.json"), "utf8"));
    expect(made).toMatchObject({ name: "ada-demo", display_name: "Demo", icon: "icon.png" });
    home.write("manifest.json", { manifest_version: "0.3", tool: [] });
    const odd = await plugbay(home, ["pack", "--mcpb"]);
    expect(odd).toMatchObject({ code: 2, stderr: expect.stringContaining("manifest.json would not be valid") });
    home.write("manifest.json", { short_name: "a web app" });
    const other = await plugbay(home, ["pack", "--mcpb"]);
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("is not the manifest of a bundle") });
  });
});

describe("what looks like a secret", () => {
  it.each([
    ["credentials.json", "{}", "its name says"],
    ["service-account-prod.json", "{}", "its name says"],
    ["lib/config.js", `export const token = "${token}";`, "a token of GitHub"],
    ["lib/id.txt", `-----BEGIN RSA ${"PRIVATE"} KEY-----\nMIIE`, "a private key"],
  ])("is refused: %s", async (path, text, reason) => {
    const home = createProject();
    home.write(path, text);
    const { code, stdout, stderr } = await plugbay(home, ["pack"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`${path} must not be packed`);
    expect(stderr).toContain(reason);
    expect(stderr).toContain(`--allow ${path}`);
    expect(stderr).not.toContain(token);
    expect(existsSync(join(home.folder, "ada-demo-1.2.3.mcpb"))).toBe(false);
    expect(await plugbay(home, ["pack", "--allow", path])).toMatchObject({ code: 0 });
  });

  it("is no obstacle where the project does not publish it", async () => {
    const home = createProject({ files: ["lib"] });
    home.write("lib/fine.js", "export {};");
    home.write("credentials.json", "{}");
    expect(await plugbay(home, ["pack", "--mcpb"])).toMatchObject({ code: 0 });
  });
});

describe("server.json", () => {
  const written = (home: Home): unknown => JSON.parse(readFileSync(join(home.folder, "server.json"), "utf8"));

  it("says how the package is started, and where the server is", async () => {
    const home = createProject();
    const args = ["pack", "--server-json", "--remote", "https://example.com/mcp", "--env", "API_KEY"];
    expect(await plugbay(home, args)).toMatchObject({ code: 0, stderr: "" });
    expect(written(home)).toEqual({
      $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
      name: "io.github.ada/demo",
      description: "Greets",
      version: "1.2.3",
      repository: { url: "https://github.com/ada/demo", source: "github" },
      websiteUrl: "https://example.com/demo",
      packages: [
        {
          registryType: "npm",
          identifier: "@ada/demo",
          version: "1.2.3",
          runtimeHint: "npx",
          transport: { type: "stdio" },
          environmentVariables: [{ name: "API_KEY", isRequired: true, isSecret: true }],
        },
      ],
      remotes: [{ type: "streamable-http", url: "https://example.com/mcp" }],
    });
    expect(readdirSync(home.folder).some((name) => name.endsWith(".mcpb"))).toBe(false);
  });

  it("has the digest of a bundle that will be elsewhere", async () => {
    const home = createProject({ private: true });
    const url = "https://github.com/ada/demo/releases/download/v1.2.3/demo.mcpb";
    const ended = await plugbay(home, ["pack", "--mcpb-url", url, "--out", "built", "--json"]);
    const { bundle } = json(ended) as { readonly bundle: { readonly sha256: string } };
    const made = JSON.parse(readFileSync(join(home.folder, "built", "server.json"), "utf8"));
    const expected = { registryType: "mcpb", identifier: url, fileSha256: bundle.sha256 };
    expect(made.packages).toEqual([expect.objectContaining(expected)]);
  });

  it("keeps what was written into it by hand", async () => {
    const home = createProject();
    const icons = [{ src: "https://example.com/icon.png" }];
    const oci = { registryType: "oci", identifier: "docker.io/ada/demo:1", transport: { type: "stdio" } };
    const npm = {
      registryType: "npm",
      identifier: "old",
      transport: { type: "stdio" },
      registryBaseUrl: "https://registry.npmjs.org",
    };
    home.write("server.json", { version: "1.0.0", icons, packages: [oci, npm] });
    expect(await plugbay(home, ["pack", "--server-json"])).toMatchObject({ code: 0 });
    expect(written(home)).toMatchObject({
      version: "1.2.3",
      icons,
      packages: [{ registryType: "npm", identifier: "@ada/demo", registryBaseUrl: "https://registry.npmjs.org" }, oci],
    });
  });

  it("says what the registry will want of the package, and that it cuts a description", async () => {
    const home = createProject({ mcpName: undefined, description: "x".repeat(120) });
    const { code, stderr } = await plugbay(home, ["pack", "--server-json", "--name", "com.example/demo"]);
    expect(code).toBe(0);
    expect(stderr).toContain('the registry wants "mcpName": "com.example/demo"');
    expect(stderr).toContain("cut after 100 characters");
    expect((written(home) as { description: string }).description).toHaveLength(100);
  });

  it.each([
    ["no name for the registry", { mcpName: undefined }, [], '"mcpName": "io.github.ada/demo"'],
    ["a name that is none", {}, ["--name", "demo"], "is no name of a server"],
    ["nothing that can be installed", { private: true }, [], "nothing to install"],
    ["a range as its version", { version: "^1.2.3" }, [], "server.json would not be valid"],
    ["a remote that is no URL", {}, ["--remote", "example.com"], "is not a URL"],
  ])("is refused with %s", async (_, more, args, said) => {
    const home = createProject(more);
    const { code, stdout, stderr } = await plugbay(home, ["pack", "--server-json", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(said);
    expect(existsSync(join(home.folder, "server.json"))).toBe(false);
  });

  it("is left out with a reason where both are written and it cannot be", async () => {
    const home = createProject({ mcpName: undefined });
    const { code, stdout, stderr } = await plugbay(home, ["pack"]);
    expect(code).toBe(0);
    expect(stdout).toContain("wrote ada-demo-1.2.3.mcpb");
    expect(stderr).toContain("no server.json: the package.json has no mcpName");
  });
});

describe("pack", () => {
  it("ends with 130 and writes nothing when it is interrupted", async () => {
    const home = createProject();
    const started = join(home.folder, "npm.pid");
    chmodSync(home.write("bin/npm", `#!/bin/sh\necho $$ > '${started}'\nexec sleep 3600\n`), 0o755);
    const env = { PATH: `${join(home.folder, "bin")}:${home.env.PATH}` };
    const ended = await plugbay(home, ["pack", "--mcpb"], {
      env,
      onStart: (child) => void until(() => existsSync(started)).then(() => child.kill("SIGINT")),
    });
    expect(ended.code).toBe(130);
    expect(readdirSync(home.folder).some((name) => name.endsWith(".mcpb"))).toBe(false);
  });

  it.each([
    ["a folder without a package.json", { folder: "keys" }, "there is no"],
    ["a package without a description", { more: { description: undefined } }, "has no description"],
    ["a package without a program", { more: { bin: undefined } }, "has no bin"],
    ["a program that is not built", { more: { bin: "dist/main.js" } }, "dist/main.js, is not among the files"],
    [
      "a dependency that is not installed",
      { more: { dependencies: { nowhere: "1" } } },
      "nowhere, which this project needs",
    ],
    ["a variable with a value", { args: ["--env", "A=b"] }, "no value"],
    ["an option that there is not", { args: ["--mcpbb"] }, "did you mean --mcpb"],
  ])("ends with 2 for %s", async (_, { folder = ".", more = {}, args = [] }: Refused, said) => {
    const home = createProject(more);
    const { code, stdout, stderr } = await plugbay(home, ["pack", folder, "--mcpb", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(said);
  });
});

interface Refused {
  readonly folder?: string;
  readonly more?: object;
  readonly args?: readonly string[];
}
