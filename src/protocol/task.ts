import type { JsonObject } from "../json/json.ts";
import type { Failure } from "./errors.ts";
import type { Question } from "./input.ts";
import type { CallToolResult } from "./tool.ts";

/** The extension by which both sides say that they know tasks. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

export type TaskStatus = DetailedTask["status"];

/** Work that continues after the call that started it was answered. */
export interface Task {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** A description of the status for a person. */
  readonly statusMessage?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** How long it is retained, from its creation on, in milliseconds; null means without limit. */
  readonly ttlMs: number | null;
  /** How long to wait before asking again. */
  readonly pollIntervalMs?: number;
  readonly _meta?: JsonObject;
}

/**
 * A task with the members of its status. The last three statuses are final.
 *
 * A server of 2025-11-25 sends the status only: the result of its tasks is the answer to `tasks/result`, during which
 * it also asks its questions. There, `failed` includes results with `isError`.
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
