import { asJson } from "../../json/json.ts";
import { McpError, toError } from "../../protocol/errors.ts";
import type { Question } from "../../protocol/input.ts";
import type { Method } from "../../protocol/methods.ts";
import { type CallOf, createRequestId, type Outcome, type OutcomeOf, onAbort } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import { type CallMessage, failureOf, processEnded, type SendCallMessage } from "./call-messages.ts";
import { encodeCall } from "./forwarded-call.ts";

/** The calls that other processes run for this one. */
export interface SentCalls<W> {
  forward<M extends Method>(node: string, work: W, call: CallOf<M>): Promise<OutcomeOf<M> | undefined>;
  receive(message: CallMessage): void;
  /** The processes that run calls for this one. */
  nodes(): readonly string[];
  /** Fails the calls that a process runs, or all. */
  fail(node?: string): void;
}

/** How long the other process may take to say that it has the call. */
export const ACCEPT_MS = 2_000;

interface Sent {
  readonly node: string;
  readonly call: CallOf;
  isAccepted: boolean;
  /** Undefined where the other process has not taken the call. */
  settle(outcome: Outcome | undefined): void;
  fail(error: McpError): void;
}

export function createSentCalls<W extends object>(clock: Clock, send: SendCallMessage): SentCalls<W> {
  const sent = new Map<string, Sent>();
  const trySend: SendCallMessage = (node, id, content) => send(node, id, content).catch(() => {});

  const answer = async (id: string, { node, call }: Sent, number: number, question: Question): Promise<void> => {
    try {
      if (call.ask === undefined) throw new McpError("method-not-found", "the caller cannot be asked now");
      await send(node, id, { kind: "answer", number, answer: await call.ask(question) });
    } catch (error) {
      await trySend(node, id, { kind: "refusal", number, failure: failureOf(error) });
    }
  };

  return {
    forward<M extends Method>(node: string, work: W, call: CallOf<M>) {
      const id = createRequestId();
      return new Promise<OutcomeOf<M> | undefined>((resolve, reject) => {
        const end = (): void => {
          sent.delete(id);
          stopTimer();
          unlisten();
        };
        const entry: Sent = {
          node,
          call,
          isAccepted: false,
          settle(outcome) {
            end();
            resolve(outcome as OutcomeOf<M> | undefined);
          },
          fail(error) {
            end();
            if (entry.isAccepted) reject(error);
            else resolve(undefined);
          },
        };
        const cancel = (): void => void trySend(node, id, { kind: "cancelled" });
        const stopTimer = clock.after(ACCEPT_MS, () => {
          if (entry.isAccepted) return;
          // Should the other process have received it after all, it does not run it.
          cancel();
          entry.settle(undefined);
        });
        const unlisten = onAbort(call, cancel);
        sent.set(id, entry);
        send(node, id, { kind: "call", work: asJson(work), call: encodeCall(call) }).catch(() =>
          entry.settle(undefined),
        );
      });
    },
    receive({ id, from, ...message }) {
      const entry = sent.get(id);
      // The other process does not go on with a call that nobody waits for.
      if (entry === undefined && message.kind === "accepted") return void trySend(from, id, { kind: "cancelled" });
      if (entry === undefined) return;
      if (message.kind === "accepted") entry.isAccepted = true;
      else if (message.kind === "notification") void entry.call.notify(message.method, message.params);
      else if (message.kind === "question") void answer(id, entry, message.number, message.question);
      else if (message.kind === "outcome") entry.settle(message.outcome);
      else if (message.kind === "error") entry.fail(toError(message.failure));
    },
    nodes: () => [...sent.values()].map(({ node }) => node),
    fail(node) {
      for (const entry of [...sent.values()]) if (node === undefined || entry.node === node) entry.fail(processEnded());
    },
  };
}
