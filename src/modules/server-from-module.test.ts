import { mkdtempSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { connect } from "../connect/index.ts";
import { createServer, tool } from "../server/index.ts";
import { serverFromModule } from "./server-from-module.ts";

async function toolsOf(source: object | string) {
  await using client = await connect(await serverFromModule(source));
  return await client.listTools();
}

const number = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
const twice = Object.assign(({ n }: { n: number }) => ({ n: 2 * n }), { description: "Doubles", input: number });

describe("a module as a server", () => {
  it("has its functions as tools, described by themselves or by describe", async () => {
    const describe = { half: { description: "Halves", input: number, annotations: { readOnlyHint: true } } };
    const half = ({ n }: { n: number }) => ({ n: n / 2 });
    const made = tool({ description: "Made", run: () => "ok" });
    const tools = await toolsOf({ twice, half, made, describe, version: "1", Kind: class {}, default: () => 1 });
    expect(tools).toEqual([
      { name: "twice", description: "Doubles", inputSchema: number },
      { name: "half", description: "Halves", inputSchema: number, annotations: { readOnlyHint: true } },
      { name: "made", description: "Made", inputSchema: { type: "object" } },
    ]);
  });

  it("calls a function with its checked arguments and the context", async () => {
    const who = (_: unknown, { auth }: { readonly auth?: { readonly principal: string } }) => ({
      who: auth?.principal,
    });
    await using client = await connect(await serverFromModule({ twice, who }), {
      identity: { principal: "ann", scopes: [] },
    });
    expect(await client.callTool("twice", { n: 2 })).toMatchObject({ structuredContent: { n: 4 } });
    expect(await client.callTool("twice", { n: "2" })).toMatchObject({ isError: true });
    expect(await client.callTool("who")).toMatchObject({ structuredContent: { who: "ann" } });
  });

  it("is a server that it exports as default", async () => {
    const server = createServer({ name: "own", version: "1.0.0" });
    expect(await serverFromModule({ default: server, twice })).toBe(server);
  });

  it.each<[object, RegExp]>([
    [{}, /exports no function/],
    [{ default: () => 1 }, /exports no function/],
    [{ twice, describe: { twise: {} } }, /describes "twise", which is no exported function/],
    [{ twice, describe: 1 }, /a describe that is no object/],
    [{ twice, describe: { twice: { inputs: {} } } }, /unknown option "inputs"; did you mean "input"/],
  ])("is refused when there is a mistake in %j", async (module, message) => {
    await expect(serverFromModule(module)).rejects.toMatchObject({
      code: "invalid-definition",
      message: expect.stringMatching(message),
    });
  });

  it("is loaded from a file, and again when that has changed", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "module-")), "my-tools.mjs");
    writeFileSync(path, "export const a = () => 1;");
    const first = await serverFromModule(path);
    expect([first.info.name, first.tools.names]).toEqual(["my-tools", ["a"]]);
    writeFileSync(path, "export const b = () => 1;");
    utimesSync(path, 1, 1);
    expect((await serverFromModule(path)).tools.names).toEqual(["b"]);
  });

  it.each([
    ["/nowhere/tools.mjs", /is not there/],
    ["https://example.com/tools.mjs", /is not a file/],
    ["data:text/javascript,export const a = 1", /is not a file/],
  ])("is not loaded from %s", async (source, message) => {
    await expect(serverFromModule(source)).rejects.toThrow(message);
  });

  it("says what is wrong with a file that cannot be loaded", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "module-")), "tools.mjs");
    writeFileSync(path, "throw new Error('no database')");
    await expect(serverFromModule(path)).rejects.toThrow(/tools\.mjs cannot be loaded: no database/);
  });
});
