import type { JsonObject } from "../json/json.ts";
import type { Content, Icon } from "../model/content.ts";
import type { GetPromptResult, PromptMessage } from "../model/prompt.ts";
import type { AnySchema, InferOut } from "../schema/infer.ts";
import type { Completers } from "./completion.ts";
import type { Context } from "./context.ts";
import { kit } from "./kit.ts";
import { type PromptKit, promptKit } from "./prompt-kit.ts";

/** What a prompt may return: text or one block of the user, messages, or a full result. */
export type PromptReturn = string | Content | PromptMessage | readonly PromptMessage[] | GetPromptResult;

export interface PromptOptions<A extends AnySchema> {
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
  /** An object schema; its properties are the arguments. They are strings on the wire. */
  readonly arguments?: A;
  /** Suggests values for arguments, by name. */
  readonly complete?: Completers;
  get(args: InferOut<A>, context: Context): PromptReturn | Promise<PromptReturn>;
}

/** A prompt as the server keeps it. */
export interface PromptDefinition {
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
  readonly arguments?: AnySchema | undefined;
  readonly complete?: Completers;
  get(args: unknown, context: Context): PromptReturn | Promise<PromptReturn>;
  readonly [kit]: PromptKit;
}

/** A prompt that declares no arguments gets whatever came. */
interface AnyArguments {
  readonly type: "object";
}

/** Defines a prompt. */
export function prompt<const A extends AnySchema = AnyArguments>(options: PromptOptions<A>): PromptDefinition;
export function prompt(options: Omit<PromptDefinition, typeof kit>): PromptDefinition {
  return { ...options, [kit]: promptKit };
}

/** Prompts by name. */
export type Prompts = Readonly<Record<string, PromptDefinition>>;
