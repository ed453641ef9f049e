import type { Exchange } from "../jsonrpc/inbound.ts";
import { metaKeys, withMeta } from "../model/meta.ts";
import { methodRow } from "../model/methods.ts";
import type { Implementation } from "../model/peer.ts";
import { type Ask, type Call, createCall, type HangUp, type Notify, type Outcome } from "../model/service.ts";
import type { ServerCodec, WireCall } from "./codec.ts";
import { patientNotify } from "./patient-notify.ts";

/** How calls are answered. One may serve for all calls of a connection. */
export interface Answering {
  readonly codec: ServerCodec;
  /** Signs modern results. Waited for when there is a result, not before. */
  readonly server?: Signer | Promise<Signer>;
  /** Where the client can be asked while the call waits. */
  readonly ask?: Ask | undefined;
  /** Runs the call. */
  serve(call: Call): Promise<Outcome>;
  /** Hears that an open call has ended with a result, right after that is written. */
  ended?(exchange: Exchange): void;
}

type Signer = Implementation | undefined;

/** Turns a decoded request into a call, runs it and answers the exchange. Never rejects. */
export async function answerCall(exchange: Exchange, wire: WireCall, answering: Answering): Promise<void> {
  const { codec } = answering;
  if (exchange.abort.aborted) return;
  try {
    const outcome = await answering.serve(toCall(exchange, wire, answering));
    const signer = answering.server;
    const server = signer instanceof Promise ? await signer : signer;
    const encoded = codec.encodeOutcome(wire.method, outcome, server, wire.params);
    if (!encoded.ok) return void exchange.fail(codec.encodeFailure(encoded.failure));
    if (!isOpen(wire.method)) return void exchange.succeed(encoded.value);
    exchange.succeed(withMeta(encoded.value, metaKeys.subscriptionId, exchange.request.id));
    answering.ended?.(exchange);
  } catch (error) {
    console.error(`plugbay: ${wire.method} threw:`, error);
    exchange.fail(codec.encodeFailure({ code: "internal", message: "internal error" }));
  }
}

function toCall(exchange: Exchange, wire: WireCall, { codec, ask }: Answering): Call {
  const { method, params, peer, meta, progressToken, logLevel, answers, state, tasks } = wire;
  const open = isOpen(method);
  const subscriptionId = open ? exchange.request.id : undefined;
  const notify: Notify = (name, content) => {
    const encoded = codec.encodeNotification(name, content, { progressToken, subscriptionId });
    return encoded === undefined ? undefined : exchange.notify(codec.notificationName(name), encoded);
  };
  return createCall({
    method,
    params,
    peer,
    meta,
    wantsProgress: progressToken !== undefined,
    logLevel,
    answers,
    state,
    tasks,
    ask,
    http: exchange.via.http,
    hangUp: hangUpOf(exchange),
    abort: exchange.abort,
    notify: open ? patientNotify(notify) : notify,
  });
}

function hangUpOf({ via }: Exchange): HangUp | undefined {
  return via.hangUp === undefined ? undefined : (retryMs) => via.hangUp?.(retryMs);
}

/** Open calls mark everything they send with the id of their request, and may have news for ever. */
function isOpen(method: string): boolean {
  return methodRow(method).open === true;
}
