import type { JsonObject } from "../../json/json.ts";
import type { Id } from "../../jsonrpc/message.ts";
import { decodeFailure } from "../../protocol/codec/decode-failure.ts";
import { type Change, type Dialect, inEach, inOrder, without } from "../../protocol/codec/dialect.ts";
import { ownMeta } from "../../protocol/codec/envelope.ts";
import { encodeFailure } from "../../protocol/codec/errors.ts";
import { createNotificationWriter, nameWriter } from "../../protocol/codec/notifications.ts";
import { messageChange } from "../../protocol/codec/outcomes.ts";
import { encodeParams } from "../../protocol/codec/params.ts";
import { decodeQuestion } from "../../protocol/codec/questions.ts";
import type { QuestionMethod } from "../../protocol/input.ts";
import type { LegacyRevision } from "../../protocol/revision.ts";
import type { CallOf } from "../../protocol/service.ts";
import type { LegacyClientCodec } from "./codec.ts";
import { perRevision } from "./dialects.ts";
import { decodeInitializeResult, encodeInitializeRequest } from "./handshake.ts";
import { decodeLegacyNotification, decodeLegacyResult, hasTasks, writeTerms } from "./tasks.ts";

/** A client of a revision with sessions: it states its identity once, and answers requests of the server. */
export const legacyClient: (revision: LegacyRevision) => LegacyClientCodec = perRevision((dialect) => ({
  revision: dialect.revision,
  encodeCall: (call, progressToken) => encodeCall(dialect, call, progressToken),
  decodeResult: decodeLegacyResult,
  encodeFailure: (failure) => encodeFailure(dialect.errors, failure),
  decodeFailure,
  encodeNotification: createNotificationWriter(dialect),
  notificationName: nameWriter(dialect),
  decodeNotification: decodeLegacyNotification,
  encodeInitializeRequest: (request) => encodeInitializeRequest(dialect, request),
  decodeInitializeResult: (result) => decodeInitializeResult(dialect, result),
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

/** How a dialect says the answer to a question. Answers are bare: they never say how a call ended. */
export function createAnswerWriter(dialect: Dialect): (method: QuestionMethod, answer: JsonObject) => JsonObject {
  const changes = answerChanges(dialect);
  return (method, answer) => changes[method](bare(answer));
}

const bare = without("resultType");

function answerChanges(dialect: Dialect): { readonly [Q in QuestionMethod]: Change } {
  return {
    "elicitation/create": (answer) => (answer.action === "accept" ? answer : withoutContent(answer)),
    "sampling/createMessage": inOrder(dialect.sampled, messageChange(dialect)),
    "roots/list": inEach("roots", dialect.root),
  };
}

const withoutContent = without("content");
