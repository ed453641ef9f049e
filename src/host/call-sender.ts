import type { ClientConnection } from "../connect/create-connect.ts";
import type { Method } from "../protocol/methods.ts";
import { type CallOf, type OutcomeOf, signalOf } from "../protocol/service.ts";
import type { Share } from "../protocol/shares.ts";
import type { CallerShares } from "./caller-shares.ts";
import type { Delivery, Sending } from "./delivery.ts";
import type { LockGate, Reference } from "./lock-check.ts";
import type { Outward } from "./outward.ts";
import { openFor } from "./resource-calls.ts";
import type { ServerSlot } from "./server-slot.ts";

/** A call that is sent within the share of its caller. */
interface SharedCall<M extends Method> {
  /** True once it is known that the call makes a task. */
  readonly isTask: boolean;
  send(): Promise<OutcomeOf<M>>;
}

/** Sends calls of clients to servers, and shows clients what they may know of what comes of them. */
export interface CallSender {
  /** Sends a call as often as its connections need, and shows nobody what comes of it. */
  deliver<M extends Method>(
    slot: ServerSlot,
    call: CallOf<M>,
    reference: Reference | undefined,
    send: (line: ClientConnection) => Promise<OutcomeOf<M>>,
  ): Promise<OutcomeOf<M>>;
  /** Sends a call within what its caller may have at the server, and shows what comes of it. */
  inShare<M extends Method>(slot: ServerSlot, call: CallOf<M>, shared: SharedCall<M>): Promise<OutcomeOf<M>>;
  /** Shows what comes of a call. */
  shown<M extends Method>(slot: ServerSlot, call: CallOf<M>, sent: Promise<OutcomeOf<M>>): Promise<OutcomeOf<M>>;
}

interface CallSenderOptions {
  readonly delivery: Delivery;
  readonly gate: LockGate;
  readonly outward: Outward;
  readonly callers: CallerShares;
}

export function createCallSender({ delivery, gate, outward, callers }: CallSenderOptions): CallSender {
  const told = <M extends Method>({ name }: ServerSlot, call: CallOf<M>, outcome: OutcomeOf<M>): OutcomeOf<M> =>
    outcome.kind === "failed" ? { kind: "failed", failure: outward.failure(name, call, outcome.failure) } : outcome;

  return {
    deliver<M extends Method>(
      slot: ServerSlot,
      call: CallOf<M>,
      reference: Reference | undefined,
      send: (line: ClientConnection) => Promise<OutcomeOf<M>>,
    ) {
      const sending: Sending<OutcomeOf<M>> = {
        slot,
        get signal() {
          return signalOf(call);
        },
        open: () => openFor(slot, reference, gate, sending),
        over: send,
        isRepeatable: () => true,
      };
      return delivery.send(sending);
    },
    async inShare(slot, call, shared) {
      const { inTurn, remainders } = callers.of(slot);
      let reserved: Share | undefined;
      try {
        const taken = remainders.reserve(call, shared.isTask);
        reserved = taken instanceof Promise ? await taken : taken;
        const outcome = await slot.member.use(inTurn(call, shared.send));
        return told(slot, call, remainders.keep(call, outcome, { reserved, isTask: shared.isTask }));
      } catch (error) {
        reserved?.release();
        throw outward.error(slot.name, call, error);
      }
    },
    async shown(slot, call, sent) {
      try {
        return told(slot, call, await slot.member.use(sent));
      } catch (error) {
        throw outward.error(slot.name, call, error);
      }
    },
  };
}
