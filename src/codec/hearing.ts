import type { Sender } from "../jsonrpc/channel.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { Notification } from "../jsonrpc/message.ts";
import { Unanswered } from "../jsonrpc/unanswered.ts";
import { metaOf } from "../model/meta.ts";
import { methodRow } from "../model/methods.ts";
import { isHeard } from "../model/notification.ts";
import { newest } from "../model/revision.ts";
import type { Gate } from "../std/gate.ts";
import type { WireCall } from "./codec.ts";
import { dropInside, readEnvelope } from "./shared/envelope.ts";

/** Who sent a notification. */
export type NotificationSource = Pick<WireCall, "peer" | "logLevel">;

/** Notifications of clients on their way to the service, each as a call that nobody waits for. */
export interface Hearing {
  /** Runs `answer` when it has its turn. One too many is dropped, as are those that no author hears. */
  hear(
    notification: Notification,
    via: Sender,
    source: NotificationSource,
    answer: (exchange: Exchange, wire: WireCall) => Promise<void>,
  ): void;
}

/** `maxOpen` bounds those whose handling is not over. */
export function createHearing(gate: Gate<Exchange>, maxOpen: number): Hearing {
  let open = 0;

  return {
    hear(notification, via, source, answer) {
      if (!isHeard(notification.method) || open >= maxOpen) return;
      const exchange = new Unanswered(notification, via);
      const work = async (): Promise<void> => {
        await answer(exchange, toCall(notification, source));
        open--;
      };
      open++;
      if (!gate.run(work, exchange)) open--;
    },
  };
}

/** Notifications of one client that may be under way or wait. */
export const maxHeard = 64;

function toCall({ method, params: said }: Notification, { peer, logLevel }: NotificationSource): WireCall {
  const { _meta, ...params } = said;
  return {
    method: "notification",
    row: methodRow("notification"),
    params: { method, params },
    peer,
    meta: dropInside(metaOf(said)),
    progressToken: undefined,
    logLevel,
    answers: undefined,
    state: undefined,
    tasks: undefined,
  };
}

/** Who sent a notification of 2026-07-28, as far as it says so. */
export function statedSource({ params }: Notification): NotificationSource {
  const envelope = readEnvelope(newest, params._meta);
  return envelope.ok ? envelope.value : unknownSource;
}

const unknownSource: NotificationSource = { peer: { revision: newest, capabilities: {} }, logLevel: undefined };
