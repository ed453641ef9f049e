import type { JsonObject } from "../../json/json.ts";
import type { CallToolResult } from "../../protocol/tool.ts";
import type { ToolCall } from "../bridge.ts";
import type { Offer } from "../offers.ts";
import { textOf, toParts } from "../result-parts.ts";
import type { AiSdkOutput, AiSdkOutputPart, AiSdkRun, AiSdkSchema, AiSdkTool } from "./format.ts";

/** Runs a tool by its own name. */
export type AiSdkRunTool = (name: string, input: JsonObject, options: AiSdkRun) => Promise<CallToolResult>;

/**
 * Creates a tool for the AI SDK. `read` converts arguments to the form of the tool's input schema and validates them.
 */
export function toTool(
  { name, title, description, lowered }: Offer<JsonObject>,
  read: (input: unknown) => Promise<ToolCall>,
  run: AiSdkRunTool | undefined,
): AiSdkTool {
  return {
    description,
    ...(title !== undefined && { title }),
    inputSchema: toSchema(lowered.parameters, read),
    ...(run !== undefined && { execute: (input: JsonObject, options: AiSdkRun) => run(name, input, options) }),
    toModelOutput: ({ output }) => toOutput(output),
  };
}

/** The mark by which the AI SDK knows its own schemas. */
const mark = Symbol.for("vercel.ai.schema");

/**
 * A schema of the AI SDK that is a Standard Schema as well: the first is how it
 * is used, because only that leaves the JSON Schema alone, and the second is
 * what types can name.
 */
function toSchema(jsonSchema: JsonObject, read: (input: unknown) => Promise<ToolCall>): AiSdkSchema {
  const converted = (): JsonObject => jsonSchema;
  return {
    ...{ [mark]: true, jsonSchema, validate: (value: unknown) => validate(value, read) },
    "~standard": {
      version: 1,
      vendor: "plugbay",
      validate: async (value) => {
        const result = await validate(value, read);
        return result.success ? { value: result.value } : { issues: [{ message: result.error.message }] };
      },
      jsonSchema: { input: converted, output: converted },
    },
  };
}

type Validated =
  | { readonly success: true; readonly value: JsonObject }
  | { readonly success: false; readonly error: Error };

async function validate(value: unknown, read: (input: unknown) => Promise<ToolCall>): Promise<Validated> {
  const { input, problem } = await read(value);
  return input === undefined ? { success: false, error: new Error(problem) } : { success: true, value: input };
}

/** A result as the model is shown it. */
export function toOutput(result: Pick<CallToolResult, "content" | "structuredContent" | "isError">): AiSdkOutput {
  const parts = toParts(result);
  if (result.isError === true) return { type: "error-text", value: textOf(parts) };
  if (parts.every(({ kind }) => kind === "text")) return { type: "text", value: textOf(parts) };
  return {
    type: "content",
    value: parts.map((part): AiSdkOutputPart => {
      if (part.kind === "text") return { type: "text", text: part.text };
      return { type: part.kind === "image" ? "image-data" : "file-data", data: part.data, mediaType: part.mimeType };
    }),
  };
}
