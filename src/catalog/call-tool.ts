import { isObject } from "../json/json.ts";
import type { Catalog } from "./catalog.ts";
import { kindOf, type MetaTool, problem, quoted, unknownTool } from "./meta-tool.ts";

/** `call_tool`: runs a tool that is not in the prompt. */
export function callTool(catalog: Catalog, finder: string): MetaTool {
  return {
    tool: {
      name: "call_tool",
      description: `Calls a tool that ${finder} has shown. Its arguments must fit its inputSchema.`,
      inputSchema: {
        type: "object",
        properties: {
          name: { type: "string", description: `The name of the tool as ${finder} gave it.` },
          arguments: { type: "object", description: "The arguments of that tool." },
        },
        required: ["name"],
      },
    },
    async run(args, call) {
      if (!isObject(args) || typeof args.name !== "string") {
        return problem(`call_tool needs "name", the name of a tool as ${finder} gave it.`);
      }
      const { name, arguments: input = {}, ...others } = args;
      if (name === finder || name === "call_tool") return problem(`Call ${name} itself, not through call_tool.`);
      if (catalog.find(name) === undefined) return unknownTool(catalog, name, finder);
      if (!isObject(input)) return problem(`"arguments" of call_tool must be an object, not ${kindOf(input)}.`);
      const [stray] = Object.keys(others);
      if (stray !== undefined) return problem(`Put ${quoted(stray)} into "arguments": call_tool has no such argument.`);
      return call(name, input);
    },
  };
}
