import { isObject } from "../../json/json.ts";
import { type ErrorObject, rpcCodes } from "../../jsonrpc/message.ts";
import type { HttpHeaders } from "./http-message.ts";

/** How HTTP says that a request was refused for now. */
export interface PutOff {
  readonly status: 429 | 503;
  readonly headers: HttpHeaders;
}

/**
 * The status and headers of an error that says when the request can be sent
 * again: 429 where a limit was reached, else 503. Undefined for any other error.
 */
export function putOffBy({ code, data }: ErrorObject): PutOff | undefined {
  if (code !== rpcCodes.internal || !isObject(data) || !Number.isFinite(data.retryAfterMs)) return undefined;
  const seconds = Math.max(1, Math.ceil(Number(data.retryAfterMs) / 1_000));
  const status = data.reason === "limit-reached" ? 429 : 503;
  return { status, headers: { "content-type": "application/json", "retry-after": String(seconds) } };
}
