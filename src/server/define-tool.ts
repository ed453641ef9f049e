import type { JsonObject } from "../json/json.ts";
import type { Content, Icon } from "../model/content.ts";
import type { ToolShape } from "../model/shape.ts";
import type { CallToolResult, ToolAnnotations } from "../model/tool.ts";
import type { AnySchema, InferIn, InferOut } from "../schema/infer.ts";
import type { Context } from "./context.ts";

/** What a tool says of itself. */
export interface ToolDescription {
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly annotations?: ToolAnnotations;
  readonly meta?: JsonObject;
  /**
   * Scopes that callers need, all of them. Who lacks one is refused with
   * `forbidden`; over HTTP with 403, so that clients can ask for more. Lists
   * show the tool all the same. Default none.
   */
  readonly scopes?: readonly string[];
  /** How long the handler may go on without a result or progress. Default: the server's. 0 is off. */
  readonly timeoutMs?: number;
  /**
   * Whether a call may go on after it was answered, as a task that the client
   * follows. `auto`: when it lasts, and the client knows tasks; `required`:
   * always, and other clients cannot call it. Default `never`.
   *
   * A task has no time limit but one of the tool's own, and what it asks waits in
   * the task. After a crash it goes on only from its last `step` or answer.
   */
  readonly task?: TaskMode;
}

/** Whether a call of a tool becomes a task. */
export type TaskMode = "auto" | "required" | "never";

/** A tool that gives a value of `output`, or a full result. */
export interface CheckedTool<I, O> extends ToolDescription {
  /** Checks the arguments before `run`. Any Standard Schema, or a plain JSON Schema. Absent: anything goes. */
  readonly input?: I;
  /** Checks what `run` returns, at compile time and at run time. */
  readonly output: O;
  /** Does the work. Throw `fail("…")` for an error the model should read. */
  run(input: InferOut<I>, context: Context): Returns<InferIn<O>>;
}

/** A tool that gives what it likes: text, content, a full result, or a value that becomes JSON. */
export interface PlainTool<I, R> extends ToolDescription {
  readonly input?: I;
  readonly output?: undefined;
  run(input: InferOut<I>, context: Context): R;
}

type Returns<V> = V | CallToolResult | Promise<V | CallToolResult>;

/** A tool as the server keeps it, with the types of its schemas remembered for callers. */
export interface ToolDefinition<I = unknown, O = unknown, R = unknown> extends ToolDescription {
  readonly input?: AnySchema | undefined;
  readonly output?: AnySchema | undefined;
  run(input: unknown, context: Context): unknown;
  /** Only in types. */
  readonly "~types"?: { readonly input: I; readonly output: O; readonly returned: R };
}

/** Any JSON object: the input of a tool that declares none. */
interface AnyInput {
  readonly type: "object";
}

/** Defines a tool. Returns its argument; exists so that types flow. */
export function tool<const I extends AnySchema = AnyInput, const O extends AnySchema = never>(
  options: CheckedTool<I, O>,
): ToolDefinition<I, O>;
export function tool<const I extends AnySchema = AnyInput, R = unknown>(
  options: PlainTool<I, R>,
): ToolDefinition<I, undefined, R>;
export function tool(options: ToolDefinition): ToolDefinition {
  return options;
}

/** Tools by name. */
export type Tools = Readonly<Record<string, ToolDefinition>>;

/** The shapes of tools, for {@link ToolShape} aware clients. Told apart only when somebody asks. */
export type ShapesOfTools<T extends Tools> = { readonly [K in keyof T]: ShapeOf<NonNullable<T[K]["~types"]>> };

type ShapeOf<T> = T extends { readonly input: infer I; readonly output: infer O; readonly returned: infer R }
  ? { readonly input: Arguments<InferIn<I>>; readonly output: O extends undefined ? Plain<Awaited<R>> : InferOut<O> }
  : ToolShape;

/** What a typed caller passes. Where any object will do, it may be left out. */
type Arguments<V> = { readonly [name: string]: unknown } extends Required<V> ? object : V;

/** What a typed caller gets from a tool without `output`: simple values come as text. */
type Plain<V> = V extends string | number | boolean | bigint | null
  ? string
  : V extends undefined
    ? undefined
    : V extends Content | readonly Content[] | CallToolResult
      ? unknown
      : V;
