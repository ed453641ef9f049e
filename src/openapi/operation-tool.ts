import { isObject, type JsonObject } from "../json/json.ts";
import { toolError } from "../protocol/errors.ts";
import type { ToolAnnotations } from "../protocol/tool.ts";
import { type ResourceDefinition, resource } from "../server/resource.ts";
import type { ToolDefinition } from "../server/tool.ts";
import { toBase64 } from "../std/base64.ts";
import { defined } from "../std/defined.ts";
import { type ApiAccess, type CallableOperation, callOperation } from "./call-operation.ts";
import { errorText, readBody, readResult } from "./read-response.ts";
import type { UsableSchema } from "./usable-schema.ts";

type Usable = Extract<UsableSchema, { readonly ok: true }>;

interface ToolParts extends CallableOperation {
  readonly inputSchema: Usable;
  readonly outputSchema: Usable | undefined;
  readonly access: ApiAccess;
  readonly timeoutMs: number;
}

/** The tool of an operation. */
export function operationTool(parts: ToolParts): ToolDefinition {
  const { operation, inputSchema, outputSchema, access, timeoutMs } = parts;
  const { summary } = operation.source;
  return {
    ...defined({
      title: typeof summary === "string" && summary !== "" ? summary.slice(0, MAX_TITLE) : undefined,
      output: outputSchema?.schema,
    }),
    description: describe(parts),
    annotations: annotationsOf(operation.method),
    input: inputSchema.schema,
    timeoutMs,
    async run(args, context) {
      const { response, url, mask } = await callOperation(parts, isObject(args) ? args : {}, context, access);
      return readResult(response, { url, mask, output: outputSchema?.validator });
    },
  };
}

const MAX_TITLE = 200;
/** Characters of a description that a model has to read with every list. */
const MAX_DESCRIPTION = 4_000;

function describe({ operation }: CallableOperation): string {
  const { summary, description } = operation.source;
  const texts = [summary, description].filter((text) => typeof text === "string").map((text) => text.trim());
  const said = texts.filter((text, index) => text !== "" && !texts.slice(0, index).some((before) => before === text));
  const text = said.join("\n\n") || `${operation.method} ${operation.path}`;
  return text.length > MAX_DESCRIPTION ? `${text.slice(0, MAX_DESCRIPTION)}…` : text;
}

function annotationsOf(method: string): ToolAnnotations {
  const isSafe = method === "GET" || method === "HEAD" || method === "OPTIONS";
  if (isSafe) return { readOnlyHint: true, openWorldHint: true };
  if (method === "DELETE")
    return { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true };
  return { readOnlyHint: false, ...(method === "PUT" && { idempotentHint: true }), openWorldHint: true };
}

/** The resource of an operation that is read without arguments. Undefined for all others. */
export function operationResource(
  callable: CallableOperation,
  server: string,
  access: ApiAccess,
): ResourceDefinition | undefined {
  const { name, operation, input } = callable;
  const isReadable = operation.method === "GET" && input.schema.required === undefined && !operation.path.includes("{");
  if (!isReadable || input.body !== undefined) return undefined;
  return resource(`openapi://${server}${encodeURI(operation.path)}`, {
    name,
    description: describe(callable),
    async read(_, context) {
      const { response, mask } = await callOperation(callable, none, context, access);
      if (!response.ok) throw toolError(`${name}: ${await errorText(response, mask)}`);
      const { type, data } = await readBody(response, mask);
      const uri = `openapi://${server}${encodeURI(operation.path)}`;
      return "text" in data
        ? { uri, mimeType: type, text: data.text }
        : { uri, mimeType: type, blob: toBase64(data.bytes) };
    },
  });
}

const none: JsonObject = {};
