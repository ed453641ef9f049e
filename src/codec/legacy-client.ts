import type { JsonObject } from "../json/json.ts";
import type { Id } from "../jsonrpc/message.ts";
import type { LegacyRevision } from "../model/revision.ts";
import type { Call } from "../model/service.ts";
import type { LegacyClientCodec } from "./codec.ts";
import { perRevision } from "./legacy-dialects.ts";
import { decodeFailure } from "./shared/decode-failure.ts";
import { decodeQuestion } from "./shared/decode-question.ts";
import { decodeLegacyResult } from "./shared/decode-result.ts";
import type { Dialect } from "./shared/dialect.ts";
import { encodeParams } from "./shared/encode-params.ts";
import { createAnswerWriter } from "./shared/encode-question.ts";
import { encodeFailure } from "./shared/errors.ts";
import { decodeWelcome, encodeHello } from "./shared/handshake.ts";
import { hasTasks } from "./shared/known.ts";
import { ownMeta } from "./shared/meta.ts";
import { createNotificationWriter, decodeNotification, nameWriter } from "./shared/notifications.ts";
import { writeTerms } from "./shared/task-terms.ts";

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

function encodeCall(dialect: Dialect, call: Call, progressToken: Id | undefined): JsonObject {
  const params = withTerms(dialect, call, encodeParams(dialect, call));
  const meta = dialect.callerMeta(ownMeta(call.meta));
  if (progressToken !== undefined) return { _meta: { progressToken, ...meta }, ...params };
  return Object.keys(meta).length === 0 ? params : { _meta: meta, ...params };
}

/** Asks for a task, where the revision lets the client decide. */
function withTerms({ revision }: Dialect, { method, tasks }: Call, params: JsonObject): JsonObject {
  const wanted = tasks?.wanted === true && method === "tools/call" && hasTasks(revision);
  return wanted ? { ...params, task: writeTerms(tasks) } : params;
}
