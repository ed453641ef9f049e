import { createAnswerWriter, legacyClient } from "../../src/legacy/codec/client-codec.ts";
import type { LegacyClientCodec, LegacyServerCodec } from "../../src/legacy/codec/codec.ts";
import { legacyServer } from "../../src/legacy/codec/server-codec.ts";
import { modernClient } from "../../src/protocol/codec/client-codec.ts";
import { decodeQuestion } from "../../src/protocol/codec/questions.ts";
import { r2026_07_28 } from "../../src/protocol/codec/r2026-07-28.ts";
import { modernServer } from "../../src/protocol/codec/server-codec.ts";
import { isLegacy, type Revision } from "../../src/protocol/revision.ts";

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
  encodeInitializeRequest: noHandshake,
  decodeInitializeRequest: noHandshake,
  encodeInitializeResult: noHandshake,
  decodeInitializeResult: noHandshake,
};

function noHandshake(): never {
  throw new Error("the newest revision has no handshake");
}
