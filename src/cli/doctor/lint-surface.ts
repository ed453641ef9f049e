import { anthropic } from "../../bridge/anthropic/index.ts";
import type { SchemaNote, SkippedTool } from "../../bridge/bridge.ts";
import { gemini } from "../../bridge/gemini/index.ts";
import { openaiChat } from "../../bridge/openai/index.ts";
import { estimateTokens } from "../../catalog/tokens.ts";
import { isObject, type JsonObject } from "../../json/json.ts";
import { visible } from "../../lock/format-lock-diff.ts";
import type { ServerSurface } from "../../lock/lock.ts";
import type { Tool } from "../../protocol/tool.ts";
import { inspectSchema } from "../../schema/inspect.ts";
import { resolveSchema } from "../../schema/resolve.ts";

/** Something about a surface that is wrong, or could be better. */
export interface Finding {
  readonly level: "error" | "warning" | "note";
  readonly rule: "schema" | "name" | "tokens" | "portability" | "annotations" | "description" | "invisible";
  readonly about: string;
  readonly message: string;
}

/** Looks at what a server shows as models and other hosts will see it. */
export function lintSurface(surface: ServerSurface): readonly Finding[] {
  const { tools, instructions, prompts = [], resources = [] } = surface;
  return [
    ...tools.flatMap(lintTool),
    ...tokenFindings(tools),
    ...portability(tools.filter(({ inputSchema }) => schemaProblem(inputSchema) === undefined)),
    ...invisible("instructions", instructions),
    ...prompts.flatMap(({ name, description }) => invisible(`prompt ${name}`, `${name}${description ?? ""}`)),
    ...resources.flatMap(({ uri, name, description }) => invisible(`resource ${uri}`, `${name}${description ?? ""}`)),
  ];
}

function lintTool(tool: Tool): readonly Finding[] {
  const { name, description = "", inputSchema, outputSchema, annotations } = tool;
  const finding = (level: Finding["level"], rule: Finding["rule"], message: string): Finding => {
    return { level, rule, about: `tool ${name}`, message };
  };
  const [input, output] = [schemaProblem(inputSchema), outputSchema && schemaProblem(outputSchema)];
  const undescribed = undescribedIn(inputSchema);
  return [
    ...(input === undefined ? [] : [finding("error", "schema", `the input schema cannot be used: ${input}`)]),
    ...(output === undefined ? [] : [finding("error", "schema", `the output schema cannot be used: ${output}`)]),
    ...(/^[\w.-]{1,128}$/.test(name)
      ? []
      : [finding("warning", "name", "use letters, digits, _ - and . only, at most 128")]),
    ...(name.length > 64 ? [finding("warning", "name", "longer than the 64 characters that models take")] : []),
    ...(description.trim() === "" ? [finding("warning", "description", "has no description")] : []),
    ...(undescribed.length > 0
      ? [finding("note", "description", `arguments without a description: ${undescribed.join(", ")}`)]
      : []),
    ...(annotations?.readOnlyHint === undefined
      ? [finding("note", "annotations", "does not say by readOnlyHint whether it changes anything")]
      : []),
    ...invisible(`tool ${name}`, JSON.stringify({ name, description, inputSchema }).replaceAll(/\\[ntr]/g, " ")),
  ];
}

function schemaProblem(schema: JsonObject): string | undefined {
  const inspection = inspectSchema(schema);
  if (!inspection.ok) return inspection.problem;
  const resolution = resolveSchema(inspection.value);
  return resolution.ok ? undefined : resolution.problem;
}

function undescribedIn({ properties }: JsonObject): readonly string[] {
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, field]) =>
    isObject(field) && typeof field.description === "string" ? [] : [name],
  );
}

/** More in one definition crowds out the others. */
const maxToolTokens = 1_000;
const maxTokens = 10_000;

function tokenFindings(tools: readonly Tool[]): readonly Finding[] {
  const sizes = tools.map((tool) => ({ name: tool.name, tokens: estimateTokens(tool) }));
  const total = sizes.reduce((sum, { tokens }) => sum + tokens, 0);
  const finding = (level: Finding["level"], about: string, message: string): Finding => {
    return { level, rule: "tokens", about, message };
  };
  return [
    finding(total > maxTokens ? "warning" : "note", "all tools", `take about ${total} tokens of every prompt`),
    ...sizes
      .filter(({ tokens }) => tokens > maxToolTokens)
      .map(({ name, tokens }) => finding("warning", `tool ${name}`, `takes about ${tokens} tokens`)),
  ];
}

interface Told {
  readonly notes: readonly SchemaNote[];
  readonly skipped: readonly SkippedTool[];
}

const providers: Readonly<Record<string, (tools: readonly Tool[]) => Told>> = {
  OpenAI: (tools) => openaiChat(tools),
  Anthropic: (tools) => anthropic(tools),
  Gemini: (tools) => gemini(tools),
};

/** What each provider cannot be told of the schemas. */
function portability(tools: readonly Tool[]): readonly Finding[] {
  return Object.entries(providers).flatMap(([provider, toTools]) => {
    const { notes, skipped } = toTools(tools);
    const names = [...new Set(notes.map(({ tool }) => tool))];
    return [
      ...skipped.map(({ name, reason }): Finding => {
        return {
          level: "warning",
          rule: "portability",
          about: `tool ${name}`,
          message: `${provider} cannot take it: ${reason}`,
        };
      }),
      ...names.map((name): Finding => {
        const keywords = [...new Set(notes.filter(({ tool }) => tool === name).map(({ keyword }) => keyword))];
        const message = `${provider} is not told all of ${keywords.slice(0, 8).join(", ")}`;
        return { level: "note", rule: "portability", about: `tool ${name}`, message };
      }),
    ];
  });
}

/** What people do not see and models read. */
function invisible(about: string, text = ""): readonly Finding[] {
  const shown = text.split(/[\n\t]/).flatMap((line) => [...visible(line).matchAll(/\\u\{([\da-f]+)\}/g)]);
  const plain = [...text.matchAll(/\\u\{([\da-f]+)\}/g)].length;
  if (shown.length <= plain) return [];
  const codes = [...new Set(shown.map(([, code = ""]) => `U+${code.toUpperCase().padStart(4, "0")}`))];
  return [
    {
      level: "warning",
      rule: "invisible",
      about,
      message: `has invisible characters: ${codes.slice(0, 8).join(", ")}`,
    },
  ];
}
