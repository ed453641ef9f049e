import type { LegacyClientCodec } from "../../codec/codec.ts";
import { decodeFailure } from "../../codec/shared/decode-failure.ts";
import { decodeQuestion } from "../../codec/shared/decode-question.ts";
import { decodeLegacyResult } from "../../codec/shared/decode-result.ts";
import type { Dialect } from "../../codec/shared/dialect.ts";
import { createAnswerWriter } from "../../codec/shared/encode-outcome.ts";
import { encodeParams } from "../../codec/shared/encode-params.ts";
import { ownMeta } from "../../codec/shared/envelope.ts";
import { encodeFailure } from "../../codec/shared/errors.ts";
import { hasTasks } from "../../codec/shared/has-tasks.ts";
import { createNotificationWriter, decodeNotification, nameWriter } from "../../codec/shared/notifications.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Id } from "../../jsonrpc/message.ts";
import type { LegacyRevision } from "../../model/revision.ts";
import type { CallOf } from "../../model/service.ts";
import { perRevision } from "./dialects.ts";
import { decodeWelcome, encodeHello } from "./handshake.ts";
import { writeTerms } from "./tasks.ts";

/** A client of a revision with sessions: it says who it is once, and answers requests of the server. */
export const legacyClient: (revision: LegacyRevision) => LegacyClientCodec = perRevision((dialect) => ({
  revision: dialect.revision,
  encodeCall: (call, progressToken) => encodeCall(dialect, call, progressToken),
  decodeResult: decodeLegacyResult,
  encodeFailure: (failure) => encodeFailure(dialect.errors, failure),
  decodeFailure,
  encodeNotification: createNotificationWriter(dialect),
  notificationName: nameWriter(dialect),
  decodeNotification,
  encodeHello: (hello) => encodeHello(dialect, hello),
  decodeWelcome: (result) => decodeWelcome(dialect, result),
  decodeQuestion,
  encodeAnswer: createAnswerWriter(dialect),
}));

function encodeCall(dialect: Dialect, call: CallOf, progressToken: Id | undefined): JsonObject {
  const params = withTerms(dialect, call, encodeParams(dialect, call));
  const meta = dialect.callerMeta(ownMeta(call.meta));
  if (progressToken !== undefined) return { _meta: { progressToken, ...meta }, ...params };
  return Object.keys(meta).length === 0 ? params : { _meta: meta, ...params };
}

/** Asks for a task, where the revision lets the client decide. */
function withTerms({ revision }: Dialect, { method, tasks }: CallOf, params: JsonObject): JsonObject {
  const wanted = tasks?.wanted === true && method === "tools/call" && hasTasks(revision);
  return wanted ? { ...params, task: writeTerms(tasks) } : params;
}
