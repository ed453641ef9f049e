import type { JsonObject } from "../json/json.ts";

/** A call that waits until somebody says yes or no. */
export interface PendingApproval {
  /** For `answer`. */
  readonly id: string;
  /** Who calls, where somebody has checked. */
  readonly principal?: string | undefined;
  /** The program that calls, as it names itself: unverified. */
  readonly client?: string | undefined;
  readonly method: string;
  readonly server: string;
  /** Of the tool or prompt, or the URI of the resource. */
  readonly name: string;
  readonly arguments?: JsonObject | undefined;
  /** The rule that wants the approval. */
  readonly rule: string;
  /** Since when it waits, in ISO 8601. */
  readonly since: string;
}

/** What somebody says of a call that waits. */
export interface ApprovalAnswer {
  readonly approved: boolean;
  /** Who says so. Events of the call have it. */
  readonly by: string;
  /** Why. The caller is told where the answer is no. */
  readonly reason?: string | undefined;
}

/** Something that has happened to a call that waits. */
export interface ApprovalChange {
  /** `waiting` is new; `cancelled` was given up by its caller; `used` was approved, and is sent now. */
  readonly kind: "waiting" | "approved" | "declined" | "cancelled" | "used";
  readonly approval: PendingApproval;
  /** Who has answered. */
  readonly by?: string | undefined;
}

/** Calls that wait for a person, of all processes that share the store. */
export interface GatewayApprovals {
  /** Those that wait now, at most 1,000. */
  list(): Promise<readonly PendingApproval[]>;
  /**
   * Answers one. Rejects with `invalid-params` when nobody waits for the answer: it was given, or the call was cancelled
   * or has waited too long.
   */
  answer(id: string, answer: ApprovalAnswer): Promise<void>;
  /** What happens from now on. A reader more than 1,024 changes behind gets `limit-reached`. */
  changes(signal?: AbortSignal): AsyncIterable<ApprovalChange>;
}
