/** A mistake that everybody makes once. */
export interface Mistake {
  /** What is wrong. */
  readonly name: string;
  /** The program, with `»` where the compiler is to point. */
  readonly code: string;
  /** What the compiler is to say, among other things. */
  readonly message: string;
}

const head = `import { createServer, tool } from "plugbay/server";
import { connect } from "plugbay/client";
import { openHost } from "plugbay/host";
import { z } from "zod";

const input = z.object({ sku: z.string() });
const output = z.object({ order: z.string(), total: z.number() });
export const shop = createServer({
  name: "shop",
  version: "1.0.0",
  tools: { buy: tool({ input, output, run: ({ sku }) => ({ order: sku, total: 1 }) }) },
});
export const client = await connect(shop);
type HostTools = { readonly "shop:buy": { readonly input: { readonly sku: string }; readonly output: unknown } };
export const host = await openHost<HostTools>({ shop });
`;

export const mistakes: readonly Mistake[] = [
  {
    name: "a wrong member",
    code: "tool({ output, run: () => ({ »order: 1, total: 1 }) });",
    message: "Type 'number' is not assignable to type 'string'.",
  },
  {
    name: "a wrong member of the structured content of a full result",
    code: "tool({ output, run: () => ({ structuredContent: { »order: 1, total: 1 } }) });",
    message: "Type 'number' is not assignable to type 'string'.",
  },
  {
    name: "a wrong member, later",
    code: "tool({ output, run: async () => »({ order: 1, total: 1 }) });",
    message: "Type 'number' is not assignable to type 'string'.",
  },
  {
    name: "a wrong member, later, of a block",
    code: "tool({ output, »run: async () => { await 1; return { order: 1, total: 1 }; } });",
    message: "Type 'number' is not assignable to type 'string'.",
  },
  {
    name: "a missing member",
    code: 'tool({ output, run: () => »({ order: "A" }) });',
    message:
      "Property 'total' is missing in type '{ readonly order: \"A\"; }' but required in type '{ readonly order: string; readonly total: number; }'.",
  },
  {
    name: "a wrong name in run",
    code: "tool({ input, run: ({ »skn }) => skn });",
    message: "Property 'skn' does not exist on type '{ sku: string; }'.",
  },
  {
    name: "an unknown option of a tool",
    code: 'tool({ »inputSchema: input, run: () => "" });',
    message: "'inputSchema' does not exist in type 'ToolOptions<",
  },
  {
    name: "an unknown option of a server",
    code: 'createServer({ name: "x", version: "1", »instruction: "x" });',
    message: "Did you mean to write 'instructions'?",
  },
  {
    name: "text as input",
    code: 'tool({ »input: z.string(), run: () => "" });',
    message: "is not assignable to type '\"the schema must describe an object: wrap it in z.object({ … })\"'.",
  },
  {
    name: "the members of a schema as input",
    code: 'tool({ »input: { sku: z.string() }, run: () => "" });',
    message:
      "is not assignable to type '\"these are the members of a schema, not a schema: wrap them in z.object({ … })\"'.",
  },
  {
    name: "a JSON Schema of text as input",
    code: 'tool({ »input: { type: "string" }, run: () => "" });',
    message: 'is not assignable to type \'"a JSON Schema here needs type: \\"object\\""\'.',
  },
  {
    name: "a wrong argument of a client",
    code: "client.tools.buy({ »sku: 1 });",
    message: "Type 'number' is not assignable to type 'string'.",
  },
  {
    name: "an unknown tool of a client",
    code: "client.tools.»by;",
    message: "Property 'by' does not exist on type",
  },
  {
    name: "an unknown tool of a typed host",
    code: 'host.callTool(»"shop:by", { sku: "A" });',
    message: "Argument of type '\"shop:by\"' is not assignable to parameter of type '\"shop:buy\"'.",
  },
  {
    name: "an unknown option of connect",
    code: "connect(shop, { »timeout: 1 });",
    message: "'timeout' does not exist in type 'ConnectOptions'. Did you mean to write 'timeoutMs'?",
  },
];

/** The programs, each with one mistake, by the names of their files. */
export const mistaken: Readonly<Record<string, string>> = Object.fromEntries(
  mistakes.map(({ code }, index) => [fileOf(index), `${head}${code.replace("»", "")}\n`]),
);

/** Where the compiler has to point. */
export function placeOf(index: number): string {
  const before = mistakes[index]?.code.split("»")[0] ?? "";
  return `${fileOf(index)}(${head.split("\n").length},${before.length + 1})`;
}

function fileOf(index: number): string {
  return `mistakes/${index}.ts`;
}
