import type { Message } from "../../../jsonrpc/message.ts";
import type { Clock } from "../../../std/clock.ts";
import type { Deadlines } from "../../../std/deadlines.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Inbox } from "./inbox.ts";
import type { HttpWarn } from "./known-tools.ts";
import type { Lingering } from "./lingering.ts";
import type { AnswerLimits } from "./read-answer.ts";

/** What every way to speak over HTTP works with. */
export interface HttpParts {
  readonly endpoint: Endpoint;
  readonly inbox: Inbox;
  readonly limits: AnswerLimits;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly lingering: Lingering;
  readonly warn: HttpWarn;
  /** Between 0 and 1. */
  random(): number;
  /** For what nobody waits for: a notification, the end of a session. */
  readonly timeoutMs: number;
  /** Hears which request was answered with which status. */
  answered(method: string, status: number): void;
}

/** One way to speak over HTTP. */
export interface Speaker {
  /** Sends in the background. Throws, having sent nothing, when the message is no JSON. */
  send(message: Message): void;
  /** Ends everything that is under way. Never rejects. */
  close(): Promise<void>;
}

/** What a POST must say it takes. */
export const postHeaders = {
  accept: "application/json, text/event-stream",
  "content-type": "application/json",
} as const;
