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
  /** How long the handler may go on without a result or progress. Default: the server's. 0 is off. */
  readonly timeoutMs?: number;
}

/** What a tool without `output` may return. Objects and arrays become JSON text and structured content. */
export type ToolReturn = unknown;

export interface ToolOptions<I extends AnySchema, O extends AnySchema | undefined, R> extends ToolDescription {
  /** Checks the arguments before `run`. Any Standard Schema, or a plain JSON Schema. Absent: anything goes. */
  readonly input?: I;
  /** Checks what `run` returns, at compile time and at run time. */
  readonly output?: O;
  /** Does the work. Throw `fail("…")` for an error the model should read. */
  run(input: InferOut<I>, context: Context): R;
}

/** A tool as the server keeps it, with its types remembered for callers. */
export interface ToolDefinition<In = unknown, Out = unknown> extends ToolDescription {
  readonly input?: AnySchema | undefined;
  readonly output?: AnySchema | undefined;
  run(input: unknown, context: Context): unknown;
  /** Only in types. */
  readonly "~shape"?: { readonly input: In; readonly output: Out };
}

/** What `run` must return when there is an `output`: a value that matches it, or a full result. */
type Returns<O extends AnySchema> = InferIn<O> | CallToolResult | Promise<InferIn<O> | CallToolResult>;

/** What a typed caller gets from a tool without `output`. */
type Plain<R> = Awaited<R> extends string ? string : Awaited<R> extends Content | CallToolResult ? unknown : Awaited<R>;

/** Any JSON object: the input of a tool that declares none. */
export interface AnyInput {
  readonly type: "object";
}

/** Defines a tool. Returns its argument; exists so that types flow. */
export function tool<const I extends AnySchema, const O extends AnySchema>(
  options: ToolOptions<I, O, Returns<O>> & { readonly output: O },
): ToolDefinition<InferIn<I>, InferOut<O>>;
export function tool<const I extends AnySchema = AnyInput, R = unknown>(
  options: ToolOptions<I, undefined, R>,
): ToolDefinition<InferIn<I>, Plain<R>>;
export function tool(options: ToolDefinition): ToolDefinition {
  return options;
}

/** Tools by name. */
export type Tools = Readonly<Record<string, ToolDefinition>>;

/** The shapes of tools, for {@link ToolShape} aware clients. */
export type ShapesOfTools<T extends Tools> = {
  readonly [K in keyof T]: T[K] extends ToolDefinition<infer In, infer Out>
    ? { readonly input: In; readonly output: Out }
    : ToolShape;
};
