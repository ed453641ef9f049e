import type { Id } from "../../jsonrpc/message.ts";
import { modernServer } from "../../protocol/codec/server-codec.ts";
import { type LimitReached, toLimitFailure } from "../../protocol/limit-error.ts";
import { errorAnswer, type HttpAnswer, putOffBy } from "./http-message.ts";

/** The answer to a request that a share has no room for: 429 where that is the caller's, 503 where it is that of the process. */
export function limitAnswer(reached: LimitReached, id: Id | null = null): HttpAnswer {
  const error = modernServer.encodeFailure(toLimitFailure(reached));
  return { ...errorAnswer(503, id, error), ...putOffBy(error) };
}
