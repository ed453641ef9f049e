import { anObject, aString, optional, type Problem } from "../../json/check.ts";
import { isObject, type JsonObject } from "../../json/json.ts";
import type { Request } from "../../jsonrpc/message.ts";
import { metaKeys, withMeta } from "../meta.ts";
import { methodRow } from "../methods.ts";
import type { Revision } from "../revision.ts";
import type { Decoded, ServerCodec, WireCall } from "./codec.ts";
import { asMethod, asParams, refuse } from "./codec.ts";
import type { Dialect } from "./dialect.ts";
import { dropInternal, readEnvelope, statedTerms } from "./envelope.ts";
import { encodeFailure } from "./errors.ts";
import { createNotificationWriter, nameWriter } from "./notifications.ts";
import { createOutcomeWriter, createQuestionWriter, createTaskWriter, type TaskWriter } from "./outcomes.ts";
import { isIn, paramsProblem } from "./params.ts";
import { r2026_07_28 } from "./r2026-07-28.ts";

/**
 * A server of the stateless revision: every request states its sender, every result its kind, and the server asks by
 * ending the call.
 */
export const modernServer: ServerCodec = createModernServer(r2026_07_28);

function createModernServer(dialect: Dialect): ServerCodec {
  const encodeQuestion = createInputRequestWriter(dialect);
  const writeTask = createTaskWriter(dialect, encodeQuestion);
  return {
    revision: dialect.revision,
    decodeCall: (request) => decodeCall(dialect.revision, request),
    encodeOutcome: createOutcomeWriter(dialect, encodeQuestion, writeTask),
    encodeFailure: (failure) => encodeFailure(dialect.errors, failure),
    encodeNotification: createTaggedWriter(dialect, writeTask),
    notificationName: nameWriter(dialect),
    encodeQuestion,
  };
}

/** Everything is in the request: its sender, and the answers to earlier questions. */
function decodeCall(revision: Revision, { method, params }: Request): Decoded<WireCall> {
  const envelope = readEnvelope(revision, params._meta);
  if (!envelope.ok) return envelope;
  const row = methodRow(method);
  if (!isIn(row, revision)) return refuse("method-not-found", `unknown method ${method}`);
  const asks = row.asks === true;
  const problem = paramsProblem(method, params) ?? (asks ? retryProblem(params) : undefined);
  if (problem !== undefined) return refuse("invalid-params", problem);
  const { peer, meta, progressToken, logLevel } = envelope.value;
  const { inputResponses, requestState } = params;
  return {
    ok: true,
    value: {
      method: asMethod(method),
      row,
      params: asParams(params),
      peer,
      meta: dropInternal(meta),
      progressToken,
      logLevel,
      answers: asks && isObject(inputResponses) ? inputResponses : undefined,
      state: asks && typeof requestState === "string" ? requestState : undefined,
      tasks: statedTerms(peer.capabilities),
    },
  };
}

/** What a call that was asked something carries when it is made again. */
function retryProblem(params: JsonObject): Problem {
  const problem = aRetry(params);
  return problem === undefined ? undefined : `params${problem}`;
}

const aRetry = anObject({ inputResponses: optional(anObject()), requestState: optional(aString) });

/** A question is an entry of `inputRequests`: it says what is asked, and has no id. */
function createInputRequestWriter(dialect: Dialect): ServerCodec["encodeQuestion"] {
  const writeParams = createQuestionWriter(dialect);
  return (question) => {
    const params = writeParams(question);
    return params.ok ? { ok: true, value: { method: question.method, params: params.value } } : params;
  };
}

/** A notification on a subscription says which. */
function createTaggedWriter(dialect: Dialect, writeTask: TaskWriter): ServerCodec["encodeNotification"] {
  const write = createNotificationWriter(dialect, writeTask);
  return (method, params, scope) => {
    const said = write(method, params, scope);
    const id = scope?.subscriptionId;
    return said === undefined || id === undefined ? said : withMeta(said, metaKeys.subscriptionId, id);
  };
}
