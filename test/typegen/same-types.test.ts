import { beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/connect/connect.ts";
import type { Service } from "../../src/protocol/service.ts";
import { generateTypes } from "../../src/typegen/generate-types.ts";
import { compile, places } from "./compile.ts";
import { optional, plain } from "./servers/plain.ts";
import { standard } from "./servers/standard.ts";

// What is generated from the lists of a server, and what the compiler infers from
// the server itself. The compiler compares.

let generated = "";

beforeAll(async () => {
  const list = async (name: string, server: Service) => {
    await using client = await connect(server);
    return { name, tools: await client.listTools() };
  };
  generated = generateTypes([
    await list("plain", plain),
    await list("optional", optional),
    await list("standard", standard),
  ]);
});

const head = `
import type { ToolsOf } from "../../../src/protocol/tool.ts";
import type { optional, plain } from "../../../test/typegen/servers/plain.ts";
import type { standard } from "../../../test/typegen/servers/standard.ts";
import type { Optional, OptionalTools, Plain, PlainTools, Standard } from "./generated.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Fits<A, B> = [A] extends [B] ? true : false;
type Both<A, B> = Fits<A, B> extends true ? Fits<B, A> : false;
type Shapes = Readonly<Record<string, { readonly input: unknown; readonly output: unknown }>>;
`;

/** Says for every tool whether its types compare; a tool whose types do not makes an error that names it. */
const compared = (comparison: string, a: string, b: string): string => `
type Compared${comparison}<A extends Shapes, B extends Shapes> = {
  [K in keyof A | keyof B]: K extends keyof A & keyof B
    ? [${comparison}<A[K]["input"], B[K]["input"]>, ${comparison}<A[K]["output"], B[K]["output"]>]
    : "missing";
};
type Good${comparison}<A extends Shapes> = { [K in keyof A]: [true, true] };
declare const results${comparison}: Compared${comparison}<${a}, ${b}>;
export const good${comparison}: Good${comparison}<${a}> = results${comparison};
`;

const inBothModes = describe.each([true, false]);

inBothModes("with exactOptionalPropertyTypes %s", (exactOptionalPropertyTypes) => {
  const check = async (project: string, uses: string) => {
    const files = { "generated.ts": generated, "uses.ts": head + uses };
    const options = { exactOptionalPropertyTypes, noUnusedLocals: false };
    return compile(`${project}-${exactOptionalPropertyTypes}`, files, options);
  };

  it("are equal for plain JSON Schemas", async () => {
    const uses = `
export const all: Equal<ToolsOf<typeof plain>, ToolsOf<Plain>> = true;
export const named: Equal<PlainTools, ToolsOf<Plain>> = true;
${compared("Equal", "ToolsOf<typeof plain>", "ToolsOf<Plain>")}`;
    expect(await check("plain", uses)).toEqual([]);
  });

  it("are equal for arguments that may all be left out", async () => {
    const uses = `
export const input: Equal<OptionalTools["list"]["input"], { page?: number; order?: "up" | "down" }> = true;
${compared("Both", "ToolsOf<typeof optional>", "ToolsOf<Optional>")}`;
    expect(await check("optional", uses)).toEqual([]);
  });

  it("fit for schemas of libraries", async () => {
    // A library says `a?: T | undefined`, which takes more where the two are told apart.
    const comparison = exactOptionalPropertyTypes ? "Fits" : "Both";
    expect(await check("standard", compared(comparison, "ToolsOf<Standard>", "ToolsOf<typeof standard>"))).toEqual([]);
  });

  it("would be found to differ", async () => {
    const uses = `
export const differs: Equal<PlainTools["scalars"], PlainTools["choices"]> = true;
${compared("Equal", "Pick<PlainTools, 'scalars'>", "{ scalars: { input: {}; output: PlainTools['scalars']['output'] } }")}`;
    expect(places(await check("differing", uses))).toEqual(["uses.ts:12 TS2322", "uses.ts:21 TS2322"]);
  });
});
