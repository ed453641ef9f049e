import type { Exchange } from "../jsonrpc/inbound.ts";
import { metaKeys, withMeta } from "../model/meta.ts";
import { methodRow } from "../model/methods.ts";
import type { Implementation } from "../model/peer.ts";
import { type Ask, type Call, createCall, type Outcome } from "../model/service.ts";
import type { Codec, WireCall } from "./codec.ts";

export interface Answering {
  readonly codec: Codec;
  /** Signs modern results. */
  readonly server?: Implementation | undefined;
  /** Where the client can be asked while the call waits. */
  readonly ask?: Ask | undefined;
  /** Runs the call. */
  serve(call: Call): Promise<Outcome>;
}

/** Turns a decoded request into a call, runs it and answers the exchange. Never rejects. */
export async function answerCall(exchange: Exchange, wire: WireCall, answering: Answering): Promise<void> {
  const { codec, server, serve } = answering;
  if (exchange.abort.aborted) return;
  try {
    const outcome = await serve(toCall(exchange, wire, answering));
    const encoded = codec.encodeOutcome(wire.method, outcome, server);
    if (!encoded.ok) exchange.fail(codec.encodeFailure(encoded.failure));
    else if (!isOpen(wire.method)) exchange.succeed(encoded.value);
    else exchange.succeed(withMeta(encoded.value, metaKeys.subscriptionId, exchange.request.id));
  } catch (error) {
    console.error(`plugbay: ${wire.method} threw:`, error);
    exchange.fail(codec.encodeFailure({ code: "internal", message: "internal error" }));
  }
}

function toCall(exchange: Exchange, wire: WireCall, { codec, ask }: Answering): Call {
  const { method, params, peer, meta, progressToken, logLevel, answers, state } = wire;
  const subscriptionId = isOpen(method) ? exchange.request.id : undefined;
  return createCall({
    method,
    params,
    peer,
    meta,
    wantsProgress: progressToken !== undefined,
    logLevel,
    answers,
    state,
    ask,
    abort: exchange.abort,
    notify(name, content) {
      const encoded = codec.encodeNotification(name, content, { progressToken, subscriptionId });
      return encoded === undefined ? undefined : exchange.notify(name, encoded);
    },
  });
}

/** Open calls mark everything they send with the id of their request. */
function isOpen(method: string): boolean {
  return methodRow(method).open === true;
}
