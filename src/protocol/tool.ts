import type { Json, JsonObject } from "../json/json.ts";
import type { Content, Icon } from "./content.ts";

/** What a tool is said to do. Hints, never guarantees. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** How a tool wants to be run. Only 2025-11-25 has words for it. */
export interface ToolExecution {
  /** Whether callers may, must or must not ask for a task. Absent means `forbidden`. */
  readonly taskSupport?: "forbidden" | "optional" | "required";
}

export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  /** JSON Schema with an object at its root. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: ToolAnnotations;
  readonly execution?: ToolExecution;
  readonly _meta?: JsonObject;
}

export interface CallToolParams {
  readonly name: string;
  readonly arguments?: JsonObject;
}

export interface CallToolResult {
  readonly content: readonly Content[];
  readonly structuredContent?: Json;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/** What each tool of a server takes and gives, by name, for typed callers. Exists only in types. */
export type ToolTypes = Readonly<Record<string, { readonly input: unknown; readonly output: unknown }>>;

/** Carries the types of a server's tools in its own type. */
export interface Typed<T extends ToolTypes = ToolTypes> {
  /** Never present at run time. */
  readonly "~tools"?: T;
}

/** The types of tools that a type carries; any tool with any arguments when it carries none. */
export type ToolsOf<S> = S extends { readonly "~tools"?: infer T extends ToolTypes } ? T : ToolTypes;
