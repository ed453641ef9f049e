// The tools that every peer offers: the same names, schemas and work.
import { z } from "zod";

const blobs = new Map();

/** A text of so many characters, made once. */
function blob(size) {
  if (!blobs.has(size)) blobs.set(size, Buffer.alloc(size, "x").toString("latin1"));
  return blobs.get(size);
}

/** Name, description, zod schema of the input, and what is done with it: text comes out. */
export const tools = [
  {
    name: "add",
    description: "Adds two numbers",
    shape: { a: z.number(), b: z.number() },
    run: ({ a, b }) => `${a + b}`,
  },
  { name: "blob", description: "A long text", shape: { size: z.number() }, run: ({ size }) => blob(size) },
  { name: "measure", description: "Its length", shape: { text: z.string() }, run: ({ text }) => `${text.length}` },
];

/** `count` tools, of which the first three are used. The rest have inputs of a usual size. */
export function manyTools(count) {
  if (count <= 1) return tools.slice(0, Math.max(count, 0));
  const more = Array.from({ length: Math.max(0, count - tools.length) }, (_, index) => ({
    name: `tool_${index}`,
    description: `Number ${index} of many tools, which all say in a sentence what they are good for.`,
    shape: usualShape(),
    run: ({ query }) => query,
  }));
  return [...tools, ...more];
}

function usualShape() {
  return {
    query: z.string().min(1).describe("What to look for"),
    limit: z.number().int().min(1).max(100).optional().describe("How many results to give"),
    offset: z.number().int().min(0).optional(),
    order: z.enum(["newest", "oldest", "best"]).optional(),
    tags: z.array(z.string()).optional().describe("All of them must match"),
    exact: z.boolean().optional(),
    range: z.object({ from: z.string(), to: z.string() }).optional(),
  };
}

/** The input schema of a tool. */
export const schemaOf = ({ shape }) => z.object(shape);

export const textResult = (text) => ({ content: [{ type: "text", text }] });
