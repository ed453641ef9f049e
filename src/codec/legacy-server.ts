import { asJson } from "../json/json.ts";
import type { Request } from "../jsonrpc/message.ts";
import { metaOf } from "../model/meta.ts";
import { methodRow } from "../model/methods.ts";
import { isSince, type LegacyRevision, type Revision } from "../model/revision.ts";
import { unreachable } from "../std/unreachable.ts";
import type { Decoded, LegacyServerCodec, ServerCodec, Session, WireCall } from "./codec.ts";
import { perRevision } from "./legacy-dialects.ts";
import { decodeFailure } from "./shared/decode-failure.ts";
import type { Dialect } from "./shared/dialect.ts";
import { createQuestionWriter } from "./shared/encode-question.ts";
import { createResultWriter } from "./shared/encode-result.ts";
import { encodeFailure } from "./shared/errors.ts";
import { decodeHello, encodeWelcome } from "./shared/handshake.ts";
import { createMemory } from "./shared/memory.ts";
import { readProgressToken } from "./shared/meta.ts";
import { createNotificationWriter } from "./shared/notifications.ts";
import { paramsProblem } from "./shared/params.ts";
import { refuse } from "./shared/refuse.ts";
import { asMethod, asParams } from "./shared/unchecked.ts";

/**
 * A server of a revision with sessions: a handshake says who speaks, a result is
 * always complete, and the server asks by requests of its own.
 */
export const legacyServer: (revision: LegacyRevision) => LegacyServerCodec = perRevision((dialect) => ({
  revision: dialect.revision,
  decodeCall: (request, session) => decodeCall(dialect.revision, request, session),
  encodeOutcome: createOutcomeWriter(dialect),
  encodeFailure: (failure) => encodeFailure(dialect.errors, failure),
  decodeFailure,
  encodeNotification: createNotificationWriter(dialect),
  encodeQuestion: createQuestionWriter(dialect),
  decodeHello: (params) => decodeHello(dialect, params),
  encodeWelcome: (server) => encodeWelcome(dialect, server),
}));

/** Everything a request does not say about its sender, the session knows. */
function decodeCall(revision: Revision, { method, params }: Request, session?: Session): Decoded<WireCall> {
  if (session === undefined) return refuse("invalid-request", "not initialized");
  const { since } = methodRow(method);
  if (since !== undefined && !isSince(revision, since)) return refuse("method-not-found", `unknown method ${method}`);
  const meta = metaOf(params);
  const token = readProgressToken(meta);
  if (!token.ok) return token;
  const problem = paramsProblem(method, params);
  if (problem !== undefined) return refuse("invalid-params", problem);
  return {
    ok: true,
    value: {
      method: asMethod(method),
      params: asParams(params),
      peer: session.peer,
      meta,
      progressToken: token.value,
      logLevel: session.logLevel,
      answers: undefined,
      state: undefined,
    },
  };
}

function createOutcomeWriter(dialect: Dialect): ServerCodec["encodeOutcome"] {
  const resultChange = createResultWriter(dialect);
  const remember = createMemory();

  return (method, outcome) => {
    switch (outcome.kind) {
      case "complete": {
        const result = asJson(outcome.result);
        return { ok: true, value: remember(method, result, undefined, () => resultChange(method)(result)) };
      }
      case "input-required":
        return refuse("internal", `${method} ended with questions, which must be asked while it runs`);
      case "task":
        return refuse("internal", `${method} ended with a task, which revision ${dialect.revision} cannot follow`);
      case "failed":
        return { ok: false, failure: outcome.failure };
      default:
        return unreachable(outcome);
    }
  };
}
