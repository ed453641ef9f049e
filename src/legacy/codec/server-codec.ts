import { asJson, type JsonObject } from "../../json/json.ts";
import type { Request } from "../../jsonrpc/message.ts";
import type { Decoded, ServerCodec, WireCall } from "../../protocol/codec/codec.ts";
import { asMethod, asParams, refuse } from "../../protocol/codec/codec.ts";
import { decodeFailure } from "../../protocol/codec/decode-failure.ts";
import type { Dialect } from "../../protocol/codec/dialect.ts";
import { dropInternal, readProgressToken } from "../../protocol/codec/envelope.ts";
import { encodeFailure } from "../../protocol/codec/errors.ts";
import { createNotificationWriter, nameWriter } from "../../protocol/codec/notifications.ts";
import { createMemory, createQuestionWriter, createResultWriter } from "../../protocol/codec/outcomes.ts";
import { isIn, paramsProblem } from "../../protocol/codec/params.ts";
import { metaKeys, metaOf, withMeta } from "../../protocol/meta.ts";
import { methodRow } from "../../protocol/methods.ts";
import type { LegacyRevision, Revision } from "../../protocol/revision.ts";
import { type LegacyServerCodec, notInitialized, type Session } from "./codec.ts";
import { perRevision } from "./dialects.ts";
import { decodeInitializeRequest, encodeInitializeResult } from "./handshake.ts";
import { askedTerms, hasTasks } from "./tasks.ts";

/**
 * A server of a revision with sessions: the handshake identifies the client, a result is complete or a task, and the
 * server asks by requests of its own.
 */
export const legacyServer: (revision: LegacyRevision) => LegacyServerCodec = perRevision((dialect) => ({
  revision: dialect.revision,
  decodeCall: (request, session) => decodeCall(dialect.revision, request, session),
  encodeOutcome: createOutcomeWriter(dialect),
  encodeFailure: (failure) => encodeFailure(dialect.errors, failure),
  decodeFailure,
  encodeNotification: createNotificationWriter(dialect),
  notificationName: nameWriter(dialect),
  encodeQuestion: createQuestionWriter(dialect),
  decodeInitializeRequest: (params) => decodeInitializeRequest(dialect, params),
  encodeInitializeResult: (server) => encodeInitializeResult(dialect, server),
}));

/** Everything a request does not say about its sender, the session knows. */
function decodeCall(revision: Revision, { method, params }: Request, session?: Session): Decoded<WireCall> {
  if (session === undefined) return refuse("invalid-request", notInitialized);
  const row = methodRow(method);
  if (!isIn(row, revision)) return refuse("method-not-found", `unknown method ${method}`);
  const meta = metaOf(params);
  const token = readProgressToken(meta);
  if (!token.ok) return token;
  const problem = paramsProblem(method, params);
  if (problem !== undefined) return refuse("invalid-params", problem);
  const tasks = askedTerms(revision, method, params);
  if (!tasks.ok) return tasks;
  return {
    ok: true,
    value: {
      method: asMethod(method),
      row,
      params: asParams(params),
      peer: session.peer,
      meta: dropInternal(meta),
      progressToken: token.value,
      logLevel: session.logLevel,
      answers: undefined,
      state: undefined,
      tasks: tasks.value,
    },
  };
}

function createOutcomeWriter(dialect: Dialect): ServerCodec["encodeOutcome"] {
  const resultChange = createResultWriter(dialect);
  const remember = createMemory();
  const encode = (method: string, result: JsonObject): JsonObject => resultChange(method)(result);

  return (method, outcome, _server, params) => {
    switch (outcome.kind) {
      case "complete": {
        const result = asJson(outcome.result);
        const encoded = remember(method, result, undefined, encode);
        return { ok: true, value: method === "tasks/result" ? related(encoded, params) : encoded };
      }
      case "input-required":
        return refuse("internal", `${method} ended with questions, which must be asked while it runs`);
      case "task":
        return encodeTask(dialect, method, asJson(outcome.task));
      case "failed":
        return { ok: false, failure: outcome.failure };
      default:
        throw new TypeError(`unexpected outcome: ${JSON.stringify(outcome satisfies never)}`);
    }
  };
}

function encodeTask(dialect: Dialect, method: string, task: JsonObject): Decoded<JsonObject> {
  if (method !== "tools/call") return refuse("internal", `${method} must not end with a task`);
  if (!hasTasks(dialect.revision)) {
    return refuse("internal", `${method} ended with a task, which revision ${dialect.revision} cannot follow`);
  }
  const { _meta, ...plain } = dialect.result(dialect.task(task));
  return { ok: true, value: { task: plain, ...(_meta !== undefined && { _meta }) } };
}

/** What a task came to says whose it is. */
function related(result: JsonObject, params: object | undefined): JsonObject {
  const taskId = params !== undefined ? asJson(params).taskId : undefined;
  return taskId === undefined ? result : withMeta(result, metaKeys.relatedTask, { taskId });
}
