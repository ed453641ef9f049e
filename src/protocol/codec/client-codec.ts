import { asJson, type JsonObject } from "../../json/json.ts";
import type { ClientInfo } from "../peer.ts";
import type { CallOf } from "../service.ts";
import type { ClientCodec } from "./codec.ts";
import { decodeFailure } from "./decode-failure.ts";
import type { Dialect } from "./dialect.ts";
import { createEnvelopeWriter, type Draft, type EnvelopeWriter, writeEnvelope } from "./envelope.ts";
import { encodeFailure } from "./errors.ts";
import { createNotificationWriter, decodeNotification, nameWriter } from "./notifications.ts";
import { encodeParams } from "./params.ts";
import { r2026_07_28 } from "./r2026-07-28.ts";
import { decodeModernResult } from "./results.ts";

/**
 * A client of the stateless revision: every request contains its identity, and questions are answered with another
 * call.
 */
export const modernClient: ClientCodec = createModernClient(r2026_07_28, (call, progressToken) =>
  writeEnvelope(r2026_07_28, call, progressToken),
);

/** The same client on one connection, with a cached envelope. */
export function modernClientOf(peer: ClientInfo): ClientCodec {
  return createModernClient(r2026_07_28, createEnvelopeWriter(r2026_07_28, peer));
}

function createModernClient(dialect: Dialect, envelopeOf: EnvelopeWriter): ClientCodec {
  return {
    revision: dialect.revision,
    encodeCall: (call, progressToken) => encodeCall(dialect, call, envelopeOf(call, progressToken)),
    decodeResult: decodeModernResult,
    encodeFailure: (failure) => encodeFailure(dialect.errors, failure),
    decodeFailure,
    encodeNotification: createNotificationWriter(dialect),
    notificationName: nameWriter(dialect),
    decodeNotification,
  };
}

function encodeCall(dialect: Dialect, call: CallOf, envelope: JsonObject): JsonObject {
  const params: Draft = { _meta: envelope, ...encodeParams(dialect, call) };
  if (call.answers !== undefined) params.inputResponses = asJson(call.answers);
  if (call.state !== undefined) params.requestState = call.state;
  return params;
}
