import type { JsonObject } from "../json/json.ts";
import type { ClientCodec } from "../protocol/codec/codec.ts";
import type { Connection, Opening } from "../protocol/connection.ts";
import { metaOf } from "../protocol/meta.ts";
import type { NotificationParams } from "../protocol/notification.ts";
import type { ClientInfo } from "../protocol/peer.ts";
import { newest } from "../protocol/revision.ts";
import { type CallOf, createCall, type Notify } from "../protocol/service.ts";
import { LazyAbort } from "../std/lazy-abort.ts";

/** What a client says of itself in every request of the newest revision. */
export function modernPeer({ info, capabilities }: Opening): ClientInfo {
  return { revision: newest, info, capabilities };
}

/** The request that only modern servers know. */
export function discoverCall(peer: ClientInfo, notify: Notify = () => undefined): CallOf<"server/discover"> {
  return createCall({ method: "server/discover", params: {}, peer, abort: new LazyAbort(), notify });
}

/** Sends notifications that belong to no call. They state their sender, too, which the revision leaves open. */
export function createModernTell(
  codec: ClientCodec,
  peer: ClientInfo,
  notify: (method: string, params: JsonObject) => void,
): NonNullable<Connection["tell"]> {
  return (method, params) => {
    const encoded = codec.encodeNotification(method, params);
    if (encoded !== undefined) notify(method, { ...encoded, _meta: envelopeOf(codec, peer, { method, params }) });
  };
}

function envelopeOf(codec: ClientCodec, peer: ClientInfo, params: NotificationParams): JsonObject {
  const meta = metaOf(params.params);
  const call = createCall({
    method: "notification",
    params,
    peer,
    meta,
    abort: new LazyAbort(),
    notify: () => undefined,
  });
  return metaOf(codec.encodeCall(call));
}

/** A modern server asks by its outcomes. A request of its own is against the protocol, which forbids to answer it. */
export function warnOfRequest(method: string, opening: Opening): void {
  const message = `the server sent a request, ${method}, which ${newest} does not have; it was not answered`;
  opening.warn?.({ kind: "not-honoured", message });
}
