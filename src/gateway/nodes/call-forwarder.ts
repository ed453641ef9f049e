import type { Method } from "../../protocol/methods.ts";
import type { CallOf, Outcome, OutcomeOf } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import type { CallMessage, SendCallMessage } from "./call-messages.ts";
import { createReceivedCalls } from "./received-calls.ts";
import { createSentCalls } from "./sent-calls.ts";

/** Has calls run by the process of the gateway that alone can run them, and runs those of other processes. */
export interface CallForwarder<W> {
  /** Undefined where the other process did not take the call in time: then nothing of it has run there, or will. */
  forward<M extends Method>(node: string, work: W, call: CallOf<M>): Promise<OutcomeOf<M> | undefined>;
  receive(message: CallMessage): void;
  /** Ends what is under way: messages about it were lost, or this process ends. */
  end(): void;
  close(): void;
}

interface CallForwarderOptions<W> {
  /** The name of this process. */
  readonly self: string;
  readonly clock: Clock;
  send(node: string, message: CallMessage): Promise<void>;
  isAlive(node: string): Promise<boolean>;
  /** Runs what another process has forwarded. */
  run(work: W, call: CallOf): Promise<Outcome>;
}

/** How often it is checked whether the process at the other end lives. */
const CHECK_MS = 1_000;

export function createCallForwarder<W extends object>(options: CallForwarderOptions<W>): CallForwarder<W> {
  const { self, clock, isAlive, run } = options;
  const send = createOrderedSend(self, options.send);
  const sent = createSentCalls<W>(clock, send);
  const received = createReceivedCalls<W>(run, send);
  let stopChecking: (() => void) | undefined;

  /** A call that runs in, or for, a process that has ended is over. */
  const check = async (): Promise<void> => {
    const nodes = new Set([...sent.nodes(), ...received.nodes()]);
    const checkOne = async (node: string): Promise<void> => {
      // A store that is away says nothing about the process.
      if (await isAlive(node).catch(() => true)) return;
      sent.fail(node);
      received.abort(node);
    };
    await Promise.all([...nodes].map(checkOne));
    stopChecking = undefined;
    checkLater();
  };

  const checkLater = (): void => {
    if (stopChecking !== undefined || sent.nodes().length + received.nodes().length === 0) return;
    stopChecking = clock.after(CHECK_MS, () => void check());
  };

  const end = (): void => {
    sent.fail();
    received.abort();
  };

  return {
    forward(node, work, call) {
      const outcome = sent.forward(node, work, call);
      checkLater();
      return outcome;
    },
    receive(message) {
      sent.receive(message);
      received.receive(message);
      checkLater();
    },
    end,
    close() {
      end();
      stopChecking?.();
    },
  };
}

/** Messages about one call arrive in the order in which they were sent. */
function createOrderedSend(from: string, send: CallForwarderOptions<object>["send"]): SendCallMessage {
  const last = new Map<string, Promise<void>>();
  return (node, id, content) => {
    const before = last.get(id) ?? Promise.resolve();
    const sending = before.then(() => send(node, { ...content, id, from }));
    // The sender of this message hears that it could not be sent; the next one is sent all the same.
    const settled = sending.catch(() => {});
    last.set(id, settled);
    void settled.then(() => last.get(id) === settled && last.delete(id));
    return sending;
  };
}
