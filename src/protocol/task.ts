import type { JsonObject } from "../json/json.ts";
import type { Failure } from "./errors.ts";
import type { Question } from "./input.ts";
import type { CallToolResult } from "./tool.ts";

/** The extension by which both sides say that they know tasks. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

export type TaskStatus = DetailedTask["status"];

/** Work that goes on after the call that started it was answered. */
export interface Task {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** How it stands, in words for a person. */
  readonly statusMessage?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** How long it is kept, from its creation on; null: for ever. */
  readonly ttlMs: number | null;
  /** How long to wait before asking again. */
  readonly pollIntervalMs?: number;
  readonly _meta?: JsonObject;
}

/**
 * A task with what its status brings. The last three are final.
 *
 * A server of 2025-11-25 tells the status and nothing else: what its tasks came
 * to is the answer to `tasks/result`, and it asks by itself while that waits.
 * `failed` has another meaning there, too: a result with `isError` is one.
 */
export type DetailedTask = Omit<Task, "status"> &
  (
    | { readonly status: "working" }
    | { readonly status: "input_required"; readonly questions: Readonly<Record<string, Question>> }
    | {
        readonly status: "completed";
        /** Absent only where `tasks/result` has it. */
        readonly result?: CallToolResult;
      }
    | {
        readonly status: "failed";
        /** Absent only where `tasks/result` has it. */
        readonly failure?: Failure;
      }
    | { readonly status: "cancelled" }
  );

/** A caller that can follow a task. */
export interface TaskTerms {
  /** True when the caller wants one, and nothing else will do. */
  readonly wanted: boolean;
  /** How long the caller wants it kept. */
  readonly ttlMs?: number;
}

/** True when nothing about the task will change any more. */
export function isFinal({ status }: Pick<Task, "status">): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}
