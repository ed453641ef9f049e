import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/connect/index.ts";
import type { Target } from "../../src/connect/target.ts";
import { generateTypes, type ListedServer } from "../../src/typegen/generate-types.ts";
import { compile, expectedPlaces, places } from "../typegen/compile.ts";
import { connect } from "./support/built.ts";
import { everything, installed, root } from "./support/places.ts";

// Types made from the lists of real servers, checked by the compiler with right and wrong uses.

const directory = realpathSync(mkdtempSync(join(tmpdir(), "generated-types-")));
const targets = {
  ours: everything,
  everything: installed("mcp-server-everything", "stdio"),
  filesystem: installed("mcp-server-filesystem", directory),
};
let servers: readonly ListedServer[] = [];

beforeAll(async () => {
  servers = await Promise.all(Object.entries(targets).map(([name, target]) => list(name, target)));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function list(name: string, target: Target): Promise<ListedServer> {
  await using client = await connect(target);
  const { prompts } = client.server.capabilities;
  return { name, tools: await client.listTools(), prompts: prompts === undefined ? [] : await client.listPrompts() };
}

/** Each use is right, or says on its line what is wrong with it. */
const uses = `
import { connect } from "plugbay/client";
import type { Everything, EverythingPrompts, Filesystem, HostTools, Ours, OursTools } from "./servers.ts";

const ours = await connect<Ours>("ours");
const { sum } = await ours.tools.add({ a: 1, b: 2 });
export const total: number = sum;
export const wrong: string = sum; // error TS2322
ours.tools.add({ a: 1, b: "2" }); // error TS2322
ours.tools.add({ a: 1 }); // error TS2741
ours.tools.add(); // error TS2554
ours.tools.add({ a: 1, b: 2, c: 3 }); // error TS2353
ours.tools.subtract; // error TS2339
ours.tools.chatty();
export const said: unknown = await ours.tools.echo({ message: "x" });
ours.tools.journey({ id: "a", ask: "user", stops: ["b"] }, { timeoutMs: 1 });
ours.tools.journey({ id: "a", ask: "nobody", stops: [] }); // error TS2322
ours.tools.journey({ id: "a", ask: "user", stops: [1] }); // error TS2322
ours.tools.test_x_mcp_header();
ours.tools.test_x_mcp_header({ level: "high" }); // error TS2322
ours.tools.json_schema_2020_12_tool({ phone: "1", address: { city: "x" } });
ours.tools.json_schema_2020_12_tool({ phone: "1", address: { city: 1 } }); // error TS2322
ours.tools.json_schema_2020_12_tool({ name: "x" }); // error TS2345

const everything = await connect<Everything>("everything");
const weather = await everything.tools["get-structured-content"]({ location: "Chicago" });
export const degrees: number = weather.temperature;
weather.wind; // error TS2339
everything.tools["get-structured-content"]({ location: "Atlantis" }); // error TS2322
everything.tools["get-sum"]({ a: 1, b: 2 });
everything.tools["get-sum"]({ a: 1, b: null }); // error TS2322
everything.tools["get-resource-links"]();
everything.tools["get-resource-links"]({ count: "3" }); // error TS2322
export const asked: EverythingPrompts["args-prompt"] = { city: "x" };
export const unasked: EverythingPrompts["args-prompt"] = { state: "x" }; // error TS2741
everything.getPrompt("args-prompt", asked);

const filesystem = await connect<Filesystem>("filesystem");
const { content } = await filesystem.tools.read_text_file({ path: "a", head: 3 });
content.toUpperCase();
content.push("x"); // error TS2339
filesystem.tools.read_text_file({ file: "a" }); // error TS2353
filesystem.tools.edit_file({ path: "a", edits: [{ oldText: "a", newText: "b" }] });
filesystem.tools.edit_file({ path: "a", edits: [{ oldText: "a" }] }); // error TS2741
const media = await filesystem.tools.read_media_file({ path: "a" });
for (const block of media.content) if (block.type === "resource") block.resource.uri.length;
for (const block of media.content) block.mimeType; // error TS2339
filesystem.tools.list_allowed_directories();

export type Input<N extends keyof HostTools> = HostTools[N]["input"];
export const first: Input<"ours:add"> = { a: 1, b: 2 };
export const same: OursTools["add"]["input"] = first;
export const second: Input<"filesystem:move_file"> = { source: "a" }; // error TS2741
export type Third = Input<"ours:nothing">; // error TS2344
`;

describe("types of servers that run", () => {
  it.each([
    ["strict", {}],
    [
      "as others have it",
      { exactOptionalPropertyTypes: false, noUncheckedIndexedAccess: false, verbatimModuleSyntax: false },
    ],
    ["of a bundler", { module: "ESNext", moduleResolution: "Bundler" }],
  ])("hold for right uses and find wrong ones (%s)", async (name, options) => {
    const files = { "servers.ts": generateTypes(servers), "uses.ts": uses };
    const diagnostics = await compile(`e2e-${name.replaceAll(" ", "-")}`, files, options);
    expect(places(diagnostics)).toEqual(expectedPlaces("uses.ts", uses));
  });

  it("may be kept as declarations", async () => {
    const files = { "servers.d.ts": generateTypes(servers), "uses.ts": uses };
    // The declarations are looked at, too.
    const diagnostics = await compile("e2e-declarations", files, { skipLibCheck: false });
    expect(places(diagnostics)).toEqual(expectedPlaces("uses.ts", uses));
  });

  it("are the same when they are made again", async () => {
    const again = await Promise.all(Object.entries(targets).map(([name, target]) => list(name, target)));
    expect(generateTypes(again.toReversed())).toBe(generateTypes(servers));
  });
});

describe("a module with clients", () => {
  const program = `
import { connectFilesystem, connectOurs } from "./servers.ts";
await using client = await connectOurs(["node", "server.js"], { timeoutMs: 1_000 });
const { sum } = await client.tools.add({ a: 1, b: 2 });
export const total: number = sum;
client.tools.add({ a: 1 }); // error TS2741
connectOurs(); // error TS2554
connectFilesystem("x", { retries: 3 }); // error TS2353
`;

  it("is typed, also where declarations are made of each file alone", async () => {
    const files = { "servers.ts": generateTypes(servers, { withClient: true }), "uses.ts": program };
    const options = { isolatedDeclarations: true, declaration: true };
    const diagnostics = await compile("e2e-clients", files, options);
    expect(places(diagnostics)).toEqual(expectedPlaces("uses.ts", program));
  });

  it("connects", async () => {
    const folder = join(root, ".tmp", "typegen", "e2e-run");
    mkdirSync(folder, { recursive: true });
    const { code } = await transform(generateTypes(servers, { withClient: true }), { loader: "ts" });
    writeFileSync(join(folder, "servers.mjs"), code);
    const { connectOurs }: { connectOurs(target: Target): Promise<Client> } = await import(
      pathToFileURL(join(folder, "servers.mjs")).href
    );
    await using client = await connectOurs(everything);
    expect(await client.tools.add?.({ a: 1, b: 2 })).toEqual({ sum: 3 });
  });
});
