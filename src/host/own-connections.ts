import type { Method } from "../protocol/methods.ts";
import type { CallOf, OutcomeOf } from "../protocol/service.ts";
import type { HostChange } from "./change-feed.ts";
import type { ServerSlots } from "./host-view.ts";
import type { ServerSlot, ServerSlotContext } from "./server-slot.ts";
import type { SendBySlot, SendRequest, SlotRequest } from "./slot-request.ts";
import type { HostConnectOptions } from "./spec.ts";

/** Connections that some callers of a served host have of their own. */
export interface OwnConnections {
  /**
   * Sends a call through the slot that is for its caller: the one that all share, or one of its own. The call that `send`
   * is given may be another than the one that came: it can be asked, and lasts until its caller comes back. Where the slot
   * of the caller is in another process, that process sends the request.
   */
  run<M extends Method>(
    shared: ServerSlot,
    call: CallOf<M>,
    request: SlotRequest,
    send: SendBySlot<M>,
  ): Promise<OutcomeOf<M>>;
  /** The slot whose lists a caller sees. */
  listsOf(shared: ServerSlot, caller: CallOf): ServerSlot | Promise<ServerSlot>;
  /** The slot over which a caller watches resources of a server. One of its own is kept until the signal aborts. */
  watchOver(shared: ServerSlot, caller: CallOf, signal: AbortSignal): Promise<ServerSlot>;
  /**
   * Closes the connections to a server that was taken out of the host: those that are in use when their calls are over, or
   * `enough` resolves. Resolves when all are closed.
   */
  retire(shared: ServerSlot, enough: Promise<void>): Promise<void>;
  /** Hears of changes over the connections that a caller has of its own, until the signal aborts. */
  hearChanges(caller: CallOf, hear: (change: HostChange) => void, signal: AbortSignal): void;
}

/** What those connections need of their host. */
export interface OwnConnectionsHost {
  readonly slots: ServerSlots;
  /** Sends what another process was asked for. */
  readonly send: SendRequest;
}

/** What is different about a slot of some callers. */
export interface OwnSlot
  extends Pick<ServerSlotContext, "dial" | "idleTimeoutMs" | "questions" | "onState" | "onChange"> {
  readonly connectOptions?: HostConnectOptions | undefined;
}

export type CreateOwnSlot = (shared: ServerSlot, own: OwnSlot) => ServerSlot;
