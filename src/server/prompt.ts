import { aListOf, anObject, oneOf, type Problem } from "../json/check.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Content, Icon } from "../protocol/content.ts";
import { McpError } from "../protocol/errors.ts";
import { checkOptionNames, type OptionNames, type OtherNames } from "../protocol/option-names.ts";
import type { GetPromptResult, Prompt, PromptArgument, PromptMessage } from "../protocol/prompt.ts";
import { hasScopes } from "../protocol/scopes.ts";
import type { Call, Outcome } from "../protocol/service.ts";
import type { AnySchema, InferOut } from "../schema/infer.ts";
import type { Checked } from "../schema/validator.ts";
import { checkAccess, forbidden, visibility } from "./access.ts";
import type { Accessible } from "./accessible.ts";
import { type Completers, complete } from "./completion.ts";
import { aBlock } from "./content.ts";
import { type Context, handlerJob } from "./context.ts";
import { badDefinition, describe, howToWrap, issueText, kit, type OwnedSchema, readSchema } from "./definition.ts";
import type { Environment } from "./environment.ts";

/** What a prompt may return: text or one block of the user, messages, or a full result. */
export type PromptReturn = string | Content | PromptMessage | readonly PromptMessage[] | GetPromptResult;

export interface PromptOptions<A extends AnySchema> extends Accessible {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly meta?: JsonObject | undefined;
  /** An object schema; its properties are the arguments. They are strings on the wire. */
  readonly arguments?: A | undefined;
  /** Suggests values for arguments, by name. */
  readonly complete?: Completers | undefined;
  get(args: InferOut<A>, context: Context): PromptReturn | Promise<PromptReturn>;
}

/** A prompt as the server keeps it. */
export interface PromptDefinition extends Accessible {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly meta?: JsonObject | undefined;
  readonly arguments?: AnySchema | undefined;
  readonly complete?: Completers | undefined;
  get(args: unknown, context: Context): PromptReturn | Promise<PromptReturn>;
  readonly [kit]: PromptKit;
}

/** A prompt without declared arguments receives all arguments. */
interface AnyArguments {
  readonly type: "object";
}

/** Defines a prompt. */
export function prompt<const A extends AnySchema = AnyArguments>(options: PromptOptions<A>): PromptDefinition;
export function prompt(options: Omit<PromptDefinition, typeof kit>): PromptDefinition {
  return { ...options, [kit]: promptKit };
}

/** Prompts by name. */
export type PromptDefinitions = Readonly<Record<string, PromptDefinition>>;

/** A prompt that is ready to be asked for. */
export interface ReadyPrompt {
  readonly name: string;
  readonly definition: PromptDefinition;
  readonly listed: Prompt;
  readonly args: OwnedSchema | undefined;
  readonly schemas: readonly (OwnedSchema | undefined)[];
}

/** What serving prompts takes. */
interface PromptKit {
  /** Checks a definition once, so that a bad one fails at start and names the prompt. */
  ready(name: string, definition: PromptDefinition, env: Pick<Environment, "trustPatterns">): ReadyPrompt;
  /** Rejects with `invalid-params` when the arguments do not match. */
  call(
    call: Call<"prompts/get">,
    prompt: ReadyPrompt,
    env: Environment,
  ): Outcome<"prompts/get"> | Promise<Outcome<"prompts/get">>;
  readonly complete: typeof complete;
}

const MAX_NAME = 1024;

function readyPrompt(
  name: string,
  definition: PromptDefinition,
  { trustPatterns }: Pick<Environment, "trustPatterns">,
): ReadyPrompt {
  const owner = `prompt ${name}`;
  if (!isObject(definition)) throw badDefinition(owner, "it must be an object with get");
  checkOptionNames(`prompt "${name}"`, definition, promptOptions, otherNames);
  if (name === "" || name.length > MAX_NAME) throw badDefinition(owner, `its name must be 1 to ${MAX_NAME} characters`);
  if (typeof definition.get !== "function") throw badDefinition(owner, "get must be a function");
  checkAccess(owner, definition);
  const args = readSchema(`${owner}: arguments`, definition.arguments, { trustPatterns });
  if (args !== undefined && !isObject(args.json.properties)) {
    const remedy = howToWrap(definition.arguments);
    throw badDefinition(owner, `arguments must be an object schema with properties${remedy}`);
  }
  checkTexts(owner, definition.arguments);
  const listed = Object.freeze({
    name,
    ...describe(owner, definition),
    ...(args !== undefined && { arguments: argumentsOf(args.json) }),
  });
  return { name, definition, listed, args, schemas: [args] };
}

/** A client can only send texts. A Standard Schema may make something else of them; a JSON Schema cannot. */
function checkTexts(owner: string, schema: AnySchema | undefined): void {
  if (!isObject(schema) || "~standard" in schema || !isObject(schema.properties)) return;
  for (const [name, property] of Object.entries(schema.properties)) {
    const type = isObject(property) ? property.type : undefined;
    if (type === undefined || [type].flat().includes("string")) continue;
    throw badDefinition(
      owner,
      `argument ${name} must be a string, not ${type}: clients send arguments of prompts as texts`,
    );
  }
}

const promptOptions: OptionNames<PromptDefinition> = {
  title: true,
  description: true,
  icons: true,
  meta: true,
  scopes: true,
  visible: true,
  arguments: true,
  complete: true,
  get: true,
};

const otherNames: OtherNames = {
  argsSchema: "arguments",
  input: "arguments",
  run: "get",
  handler: "get",
  messages: "get",
};

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

function callPrompt(
  call: Call<"prompts/get">,
  ready: ReadyPrompt,
  env: Environment,
): Outcome<"prompts/get"> | Promise<Outcome<"prompts/get">> {
  const { scopes, visible } = ready.definition;
  const seen = (): Outcome<"prompts/get"> | Promise<Outcome<"prompts/get">> =>
    scopes !== undefined && !hasScopes(call.peer.auth, scopes)
      ? forbidden(`prompt ${ready.name}`, scopes)
      : callVisible(call, ready, env);
  if (visible === undefined) return seen();
  const unseen = (): Outcome<"prompts/get"> => unknownPrompt(ready.name);
  return visibility.load().then(({ ifVisible }) => ifVisible(call, visible, env, { seen, unseen }));
}

/** The outcome for an unknown name. */
export function unknownPrompt(name: string): Outcome<"prompts/get"> {
  return { kind: "failed", failure: { code: "invalid-params", message: `unknown prompt ${name}`, data: { name } } };
}

async function callVisible(
  call: Call<"prompts/get">,
  ready: ReadyPrompt,
  env: Environment,
): Promise<Outcome<"prompts/get">> {
  const args = await readArguments(ready, call.params.arguments ?? {});
  const job = handlerJob<PromptReturn>(env, {
    method: "prompts/get",
    name: ready.name,
    run: (context) => ready.definition.get(args, context),
    finish: (value) => ({ kind: "complete", result: toResult(value, ready) }),
  });
  return env.runner.run(call, job) as Outcome<"prompts/get">;
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

/** The result for the value that `get` returned. */
function toResult(value: PromptReturn, { name, listed }: ReadyPrompt): GetPromptResult {
  const described = listed.description === undefined ? {} : { description: listed.description };
  if (typeof value === "string") return { ...described, messages: [fromUser({ type: "text", text: value })] };
  const problem = returnProblem(value as unknown as Json);
  if (problem !== undefined) throw new Error(`prompt ${name} returned malformed messages: result${problem}`);
  if (Array.isArray(value)) return { ...described, messages: value };
  if ("messages" in value) return { ...described, ...value };
  return { ...described, messages: ["role" in value ? value : fromUser(value as Content)] };
}

/** The problem with the value that `get` returned, when it is not a text. */
function returnProblem(value: Json): Problem {
  if (Array.isArray(value)) return messages(value);
  if (!isObject(value)) return UNKNOWN;
  if (value.messages !== undefined) return inMessages(value);
  if (value.role !== undefined) return aMessage(value);
  return value.type === undefined ? UNKNOWN : aBlock(value);
}

const UNKNOWN = " must be text, a block, messages, or an object with messages";
const aMessage = anObject({ role: oneOf("user", "assistant"), content: aBlock });
const messages = aListOf(aMessage);
const inMessages = anObject({ messages });

function fromUser(content: PromptMessage["content"]): PromptMessage {
  return { role: "user", content };
}

const promptKit: PromptKit = { ready: readyPrompt, call: callPrompt, complete };
