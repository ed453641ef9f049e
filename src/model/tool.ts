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
