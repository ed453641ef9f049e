import type { JsonObject } from "../json/json.ts";
import type { Content, Icon } from "../protocol/content.ts";
import type { CallToolResult, ToolAnnotations } from "../protocol/tool.ts";
import type { AnySchema, InferIn, InferOut, ObjectSchema } from "../schema/infer.ts";
import type { Accessible } from "./accessible.ts";
import type { Context } from "./context.ts";
import type { TaskMode } from "./tasks/task-record.ts";

/** What a tool says of itself, and how it is run. */
export interface ToolDescription extends Accessible {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly meta?: JsonObject | undefined;
  /**
   * Time limit of the handler without a result or progress, in milliseconds. Default: that of the server. 0 disables
   * it.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether a call may continue after it was answered, as a task that the client follows. `auto`: when it takes long,
   * and the client supports tasks; `required`: always, and other clients cannot call it. Default `never`.
   *
   * A task has no time limit but one of the tool's own, and its questions wait in the task. After a crash it continues
   * from its last `step` or answer.
   */
  readonly task?: TaskMode | undefined;
}

/** What {@link tool} takes. `I` and `O` are the schemas, `R` is what `run` returns where there is no `output`. */
export interface ToolOptions<I, O, R> extends ToolDescription {
  /** Checks the arguments before `run`: a Standard Schema or JSON Schema of an object. Absent: anything goes. */
  readonly input?: (I & ObjectSchema<I>) | undefined;
  /** Checks what `run` returns, at compile time and at run time. */
  readonly output?: O | undefined;
  /** Does the work. Throw `toolError("…")` for an error that the model should read. */
  readonly run: (input: InferOut<I>, context: Context) => Awaitable<Checked<O> | ToolResult<Checked<O>> | R>;
}

/** A full result of a tool. `structuredContent` has the type of the tool's `output`. */
export type ToolResult<V = unknown> =
  | {
      readonly content?: readonly Content[] | undefined;
      readonly structuredContent: V;
      readonly isError?: false | undefined;
      readonly _meta?: JsonObject | undefined;
    }
  | { readonly content: readonly Content[]; readonly isError: true; readonly _meta?: JsonObject | undefined };

/** What a tool without `output` may return: text, content, a full result, or a value that becomes JSON. */
export type ToolReturn =
  | Content
  | readonly Content[]
  | ToolResult
  // biome-ignore lint/complexity/noBannedTypes: with null and undefined it takes a value of type unknown
  | {}
  | string
  | number
  | boolean
  | bigint
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a tool may return nothing at all
  | void;

type Awaitable<T> = T | Promise<T>;

/** The type of `output`, for values that are not mutated. With `& {}` the compiler keeps literals. */
type Checked<O> = O extends undefined ? never : ReadonlyDeep<InferIn<O>> & {};

type ReadonlyDeep<T> = unknown extends T ? T : { readonly [K in keyof T]: ReadonlyDeep<T[K]> };

/** Not `unknown`, for which the compiler would forget literals. */
type Unchecked<O> = [O] extends [undefined] ? ToolReturn : never;

/** A tool as the server keeps it. `I` is what callers pass, `O` what they get. */
export interface ToolDefinition<I = unknown, O = unknown> extends ToolDescription {
  readonly input?: AnySchema | undefined;
  readonly output?: AnySchema | undefined;
  run(input: unknown, context: Context): unknown;
  /** Only in types. */
  readonly "~types"?: { readonly input: I; readonly output: O };
}

/** Defines a tool. Returns its argument; exists so that types flow. */
export function tool<
  const I extends AnySchema = { readonly type: "object" },
  const O extends AnySchema | undefined = undefined,
  const R extends Unchecked<O> = Unchecked<O>,
>(options: ToolOptions<I, O, R>): ToolDefinition<Arguments<InferIn<I>>, Returned<O, R>> {
  return options as ToolDefinition<never, never>;
}

/** Tools by name. */
export type ToolDefinitions = Readonly<Record<string, ToolDefinition>>;

/** What a typed caller passes. Where any object will do, it may be left out. */
type Arguments<V> = { readonly [name: string]: unknown } extends Required<V> ? object : V;

/** The result type for a typed caller. */
type Returned<O, R> = [O] extends [undefined] ? Plain<Awaited<R>> : InferOut<O>;

/** The result type for a typed caller of a tool without `output`: simple values are returned as text. */
type Plain<V> = V extends string | number | boolean | bigint | null
  ? string
  : V extends undefined
    ? undefined
    : V extends Content | readonly Content[] | CallToolResult | ToolResult
      ? unknown
      : V;
