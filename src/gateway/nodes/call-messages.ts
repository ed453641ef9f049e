import type { JsonObject } from "../../json/json.ts";
import { type Failure, McpError, toFailure } from "../../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../../protocol/input.ts";
import type { Outcome } from "../../protocol/service.ts";
import type { ForwardedCall } from "./forwarded-call.ts";

/** What two processes of a gateway say to each other about one call, which `id` names. */
export type CallMessage = { readonly id: string; readonly from: string } & CallMessageContent;

export type CallMessageContent =
  | { readonly kind: "call"; readonly work: JsonObject; readonly call: ForwardedCall }
  | { readonly kind: "accepted" }
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
  | { readonly kind: "question"; readonly number: number; readonly question: Question }
  | { readonly kind: "answer"; readonly number: number; readonly answer: QuestionAnswer }
  | { readonly kind: "refusal"; readonly number: number; readonly failure: Failure }
  | { readonly kind: "cancelled" }
  | { readonly kind: "outcome"; readonly outcome: Outcome }
  | { readonly kind: "error"; readonly failure: Failure };

/** Sends a message about a call to another process, after those that were sent before about the same call. */
export type SendCallMessage = (node: string, id: string, content: CallMessageContent) => Promise<void>;

export function processEnded(): McpError {
  return new McpError("connection-closed", "the process of the gateway that ran the call has ended: call again");
}

/** An error as another process may know it. */
export function failureOf(error: unknown): Failure {
  if (error instanceof McpError) return toFailure(error);
  return { code: "internal", message: "the call failed in another process of the gateway" };
}
