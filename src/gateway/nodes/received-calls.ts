import { McpError, toError } from "../../protocol/errors.ts";
import type { QuestionAnswer } from "../../protocol/input.ts";
import type { CallOf, Outcome } from "../../protocol/service.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { type CallMessage, failureOf, processEnded, type SendCallMessage } from "./call-messages.ts";
import { decodeCall } from "./forwarded-call.ts";

/** The calls that this process runs for others. */
export interface ReceivedCalls {
  receive(message: CallMessage): void;
  /** The processes for which this one runs calls. */
  nodes(): readonly string[];
  /** Aborts the calls of a process, or all. */
  abort(node?: string): void;
}

interface PendingQuestion {
  answer(given: QuestionAnswer): void;
  refuse(error: McpError): void;
}

interface Received {
  readonly node: string;
  readonly abort: LazyAbort;
  readonly questions: Map<number, PendingQuestion>;
}

export function createReceivedCalls<W>(
  run: (work: W, call: CallOf) => Promise<Outcome>,
  send: SendCallMessage,
): ReceivedCalls {
  const received = new Map<string, Received>();

  const serve = async ({ id, from, work, call: encoded }: CallMessage & { readonly kind: "call" }): Promise<void> => {
    const entry: Received = { node: from, abort: new LazyAbort(), questions: new Map() };
    let asked = 0;
    received.set(id, entry);
    const call = decodeCall(encoded, {
      abort: entry.abort,
      notify: (method, params) => send(from, id, { kind: "notification", method, params }).catch(() => {}),
      ask: (question) =>
        new Promise((answer, refuse) => {
          const number = ++asked;
          entry.questions.set(number, { answer, refuse });
          send(from, id, { kind: "question", number, question }).catch(refuse);
        }),
    });
    try {
      await send(from, id, { kind: "accepted" });
      if (entry.abort.aborted) throw entry.abort.reason;
      await send(from, id, { kind: "outcome", outcome: withoutCause(await run(work as W, call)) });
    } catch (error) {
      await send(from, id, { kind: "error", failure: failureOf(error) }).catch(() => {});
    } finally {
      received.delete(id);
    }
  };

  return {
    receive(message) {
      if (message.kind === "call") return void serve(message);
      const entry = received.get(message.id);
      if (message.kind === "answer") entry?.questions.get(message.number)?.answer(message.answer);
      else if (message.kind === "refusal") entry?.questions.get(message.number)?.refuse(toError(message.failure));
      else if (message.kind === "cancelled")
        entry?.abort.abort(new McpError("cancelled", "the caller has cancelled the call"));
    },
    nodes: () => [...received.values()].map(({ node }) => node),
    abort(node) {
      for (const entry of received.values())
        if (node === undefined || entry.node === node) entry.abort.abort(processEnded());
    },
  };
}

/** What was thrown stays in the process that threw it. */
function withoutCause(outcome: Outcome): Outcome {
  if (!("cause" in outcome)) return outcome;
  const { cause: _, ...rest } = outcome;
  return rest;
}
