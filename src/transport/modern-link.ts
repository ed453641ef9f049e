import { modernClient, modernClientOf } from "../codec/modern-client.ts";
import { correlateModern, sendCall, sendOpenCall } from "../codec/send.ts";
import type { JsonObject } from "../json/json.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import { rpcCodes } from "../jsonrpc/message.ts";
import type { Reply } from "../jsonrpc/outbound.ts";
import type { Opening } from "../model/connection.ts";
import { McpError, toError } from "../model/errors.ts";
import { type DiscoverResult, methodRow } from "../model/methods.ts";
import type { Peer } from "../model/peer.ts";
import { newest } from "../model/revision.ts";
import { type Call, createCall, type Outcome, type Service } from "../model/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Line, Link } from "./link.ts";

/** Asks the server what it is. Only modern servers know this request. Never cancelled on the wire. */
export function discover({ rpc, opening }: Line): Promise<Reply> {
  const call = createCall({
    method: "server/discover",
    params: {},
    peer: toPeer(opening),
    abort: new LazyAbort(),
    notify: () => undefined,
  });
  const limits = { idleMs: opening.timeoutMs, totalMs: 0 };
  return rpc.request("server/discover", () => modernClient.encodeCall(call), { limits, cancellable: false });
}

/** Reads what the server said of itself. Throws `invalid-response` when it is of no use. */
export function readDiscovery(result: JsonObject): DiscoverResult {
  const outcome = modernClient.decodeResult("server/discover", result);
  if (outcome.kind === "complete") return outcome.result;
  if (outcome.kind === "failed") throw toError(outcome.failure);
  throw new McpError("invalid-response", "server/discover asked for input");
}

/** Speaks modern with a server that does. */
export function linkModern({ rpc, opening, use }: Line, server: DiscoverResult): Link {
  use({
    request: refuse,
    notification: ({ method, params }) => opening.notified(method, params),
    correlate: correlateModern,
    acceptsBatches: () => false,
  });
  const peer = toPeer(opening);
  const codec = modernClientOf(peer);
  const service = (call: Call): Promise<Outcome> =>
    methodRow(call.method).open === true ? sendOpenCall(rpc, codec, call) : sendCall(rpc, codec, call);
  return { service: service as Service, revision: newest, server, peer };
}

function toPeer({ info, capabilities }: Opening): Peer {
  return { revision: newest, info, capabilities };
}

/** A modern server asks by its outcomes; a request of its own is against the protocol. */
function refuse(exchange: Exchange): undefined {
  exchange.fail({ code: rpcCodes.methodNotFound, message: `unknown method ${exchange.request.method}` });
}
