import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { connect } from "../e2e/support/built.ts";
import { createHome, type Home, plugbay, program, shopFile } from "./support/cli.ts";

// A file that is served, and served again when it has changed.

const running = new Set<ChildProcessWithoutNullStreams>();
afterEach(() => {
  for (const child of running) child.kill("SIGKILL");
  running.clear();
});

const server = (tool: string, run = `() => "${tool}"`): string => `
import { createServer, tool } from ${JSON.stringify(new URL("../../dist/node/server.js", import.meta.url).href)};
export const server = createServer({ name: "s", version: "1", tools: { ${tool}: tool({ description: "t", run: ${run} }) } });
`;

interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when stderr has the text. */
  says(text: string): Promise<void>;
}

function start(home: Home, ...args: readonly string[]): Started {
  const child = spawn(process.execPath, [program, ...args], { cwd: home.folder, env: home.env });
  running.add(child);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    child.stderr.emit("said");
  });
  const says = async (text: string): Promise<void> => {
    while (!said.includes(text)) await once(child.stderr, "said");
  };
  return { child, says };
}

/** The URL that it serves at. */
async function urlOf({ child }: Started): Promise<string> {
  const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  return line.replace("serving at ", "").trim();
}

describe("serve", () => {
  it("serves on stdio", async () => {
    const home = createHome();
    const ended = await plugbay(home, ["tools", "--", process.execPath, program, "serve", shopFile]);
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("buy(") });
  });

  it("serves changed files at a URL while a client stays connected and a call goes on", async () => {
    const home = createHome();
    const begun = home.write("begun", "no");
    const go = `${home.folder}/go`;
    const fs = 'const fs = await import("node:fs");';
    const slow = `async () => { ${fs} fs.writeFileSync(${JSON.stringify(begun)}, "yes"); while (!fs.existsSync(${JSON.stringify(go)})) await new Promise(setImmediate); return "from the first"; }`;
    home.write("server.mjs", server("one", slow));
    const started = start(home, "serve", "server.mjs", "--http", "0", "--watch");
    const { child, says } = started;
    await using client = await connect(await urlOf(started));
    const changed = client.changes()[Symbol.asyncIterator]().next();
    const answer = client.callTool("one");
    const { readFileSync } = await import("node:fs");
    while (readFileSync(begun, "utf8") !== "yes") await new Promise(setImmediate);
    home.write("server.mjs", server("two"));
    await says("serving the changed file");
    expect((await changed).value).toMatchObject({ kind: "tools" });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["two"]);
    home.write("go", "");
    expect(await answer).toMatchObject({ content: [{ text: "from the first" }] });
    home.write("server.mjs", "export const nothing = ;");
    await says("the last version goes on");
    expect(await client.callTool("two")).toMatchObject({ content: [{ text: "two" }] });
    child.kill("SIGINT");
    expect(await once(child, "close")).toEqual([0, null]);
  });

  it("waits with --watch for a version that can be served", async () => {
    const home = createHome();
    home.write("server.mjs", "throw new Error('not yet')");
    const started = start(home, "dev", "server.mjs", "0");
    await started.says("no console yet");
    await started.says("not yet");
    await started.says("waiting for the file to change");
    home.write("server.mjs", server("one"));
    expect(await urlOf(started)).toMatch(/^http:/);
  });

  it.each([
    ["no file", ["serve"]],
    ["a file that is not there", ["serve", "none.js"]],
    ["a port without --http", ["serve", "none.js", "80"]],
    ["what is no port", ["serve", shopFile, "--http", "http"]],
    ["what is no source", ["dev", "package.json"]],
  ])("ends with 2 for %s", async (_, args) => {
    expect(await plugbay(createHome(), args)).toMatchObject({ code: 2, stdout: "" });
  });

  it("ends with 2 for a file that throws, and says where once", async () => {
    const home = createHome();
    home.write("server.mjs", "throw new Error('broken here')");
    const ended = await plugbay(home, ["serve", "server.mjs", "--http", "0"]);
    expect(ended.code).toBe(2);
    expect(ended.stderr.match(/broken here/g)).toHaveLength(1);
    expect(ended.stderr).toContain(`${join(home.folder, "server.mjs")}:1:7`);
  });
});
