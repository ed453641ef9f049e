import { modernClient } from "../../src/codec/modern-client.ts";
import { modernServer } from "../../src/codec/modern-server.ts";
import { r2026_07_28 } from "../../src/codec/r2026-07-28.ts";
import { decodeQuestion } from "../../src/codec/shared/decode-question.ts";
import { createAnswerWriter, legacyClient } from "../../src/legacy/codec/client-codec.ts";
import type { LegacyClientCodec, LegacyServerCodec } from "../../src/legacy/codec/codec.ts";
import { legacyServer } from "../../src/legacy/codec/server-codec.ts";
import { isLegacy, type Revision } from "../../src/model/revision.ts";

/** Both ends of a revision. */
export type Codec = LegacyServerCodec & LegacyClientCodec;

/** Both ends of a revision in one, so that a test can let one hear what the other says. The newest has no handshake. */
export function codecFor(revision: Revision): Codec {
  return isLegacy(revision) ? { ...legacyClient(revision), ...legacyServer(revision) } : modern;
}

const modern: Codec = {
  ...modernClient,
  ...modernServer,
  decodeQuestion,
  encodeAnswer: createAnswerWriter(r2026_07_28),
  encodeHello: noHandshake,
  decodeHello: noHandshake,
  encodeWelcome: noHandshake,
  decodeWelcome: noHandshake,
};

function noHandshake(): never {
  throw new Error("the newest revision has no handshake");
}
