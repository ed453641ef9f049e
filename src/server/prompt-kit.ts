import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { GetPromptResult, Prompt, PromptArgument, PromptMessage } from "../model/prompt.ts";
import type { Checked } from "../schema/validator.ts";
import { isContent } from "./content.ts";
import type { PromptDefinition, PromptReturn } from "./define-prompt.ts";
import { badDefinition, describe } from "./description.ts";
import { issueText } from "./issue-text.ts";
import { type OwnedSchema, readSchema } from "./owned-schema.ts";

/** A prompt that is ready to be asked for. */
export interface ReadyPrompt {
  readonly name: string;
  readonly definition: PromptDefinition;
  readonly listed: Prompt;
  readonly args: OwnedSchema | undefined;
  readonly schemas: readonly (OwnedSchema | undefined)[];
}

/** What serving prompts takes. */
export interface PromptKit {
  /** Checks a definition once, so that a bad one fails at start and names the prompt. */
  ready(name: string, definition: PromptDefinition): ReadyPrompt;
  /** Rejects with `invalid-params` when the arguments do not match. */
  readArguments(prompt: ReadyPrompt, given: object): Promise<unknown>;
  /** The result that what `get` returned stands for. */
  toResult(value: PromptReturn, prompt: ReadyPrompt): GetPromptResult;
}

const MAX_NAME = 1024;

function readyPrompt(name: string, definition: PromptDefinition): ReadyPrompt {
  const owner = `prompt ${name}`;
  if (!isObject(definition)) throw badDefinition(owner, "it must be an object with get");
  if (name === "" || name.length > MAX_NAME) throw badDefinition(owner, `its name must be 1 to ${MAX_NAME} characters`);
  if (typeof definition.get !== "function") throw badDefinition(owner, "get must be a function");
  const args = readSchema(`${owner}: arguments`, definition.arguments);
  if (args !== undefined && !isObject(args.json.properties)) {
    throw badDefinition(owner, "arguments must be an object schema with properties");
  }
  const listed = Object.freeze({
    name,
    ...describe(owner, definition),
    ...(args !== undefined && { arguments: argumentsOf(args.json) }),
  });
  return { name, definition, listed, args, schemas: [args] };
}

function argumentsOf({ properties = {}, required = [] }: JsonObject): readonly PromptArgument[] {
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties as JsonObject).map(([name, schema]) => {
    const { title, description } = isObject(schema) ? schema : {};
    return {
      name,
      ...(typeof title === "string" && { title }),
      ...(typeof description === "string" && { description }),
      ...(needed.has(name) && { required: true }),
    };
  });
}

async function readArguments({ name, args, listed }: ReadyPrompt, given: object): Promise<unknown> {
  if (args === undefined) return given;
  const missing = listed.arguments?.find((argument) => argument.required && !Object.hasOwn(given, argument.name));
  if (missing !== undefined) {
    const message = `prompt ${name}: argument ${missing.name} is missing`;
    throw new McpError("invalid-params", message, { data: { name, argument: missing.name } });
  }
  const checked: Checked = await args.check(given);
  if (checked.ok) return checked.value;
  const message = `prompt ${name}: ${issueText(checked.issues)}`;
  throw new McpError("invalid-params", message, { data: { issues: checked.issues as unknown as Json } });
}

function toResult(value: PromptReturn, { name, listed }: ReadyPrompt): GetPromptResult {
  const described = listed.description === undefined ? {} : { description: listed.description };
  if (typeof value === "string") return { ...described, messages: [fromUser({ type: "text", text: value })] };
  if (isContent(value)) return { ...described, messages: [fromUser(value)] };
  if (isMessage(value)) return { ...described, messages: [value] };
  if (areMessages(value)) return { ...described, messages: value };
  if (isObject(value) && areMessages(value.messages)) return { ...described, ...(value as unknown as GetPromptResult) };
  throw new Error(`prompt ${name} returned neither text nor messages`);
}

function areMessages(value: unknown): value is readonly PromptMessage[] {
  return Array.isArray(value) && value.every(isMessage);
}

function isMessage(value: unknown): value is PromptMessage {
  return isObject(value) && (value.role === "user" || value.role === "assistant") && isContent(value.content);
}

function fromUser(content: PromptMessage["content"]): PromptMessage {
  return { role: "user", content };
}

export const promptKit: PromptKit = { ready: readyPrompt, readArguments, toResult };
