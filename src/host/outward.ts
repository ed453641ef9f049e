import { asJson, isObject, type Json } from "../json/json.ts";
import { type ErrorCode, type Failure, McpError, toFailure } from "../protocol/errors.ts";
import { isSafeToRetry } from "../protocol/safe-to-retry.ts";
import type { CallOf } from "../protocol/service.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { hidden, type Mask, maskJson, maskText } from "../std/secrets.ts";
import { isUnavailable } from "./server-connection.ts";

/** Something that a server has said about a call, where the caller is told less. */
export interface MaskedFailure {
  readonly server: string;
  readonly method: string;
  /** What the caller was told in its place. */
  readonly id: string;
  readonly reason: Failure;
}

/**
 * What callers of a served host may know of the failures of its servers.
 *
 * What a server says of the call itself is handed on, without secrets, paths and stack traces; what the caller has sent
 * stays as it is. Everything else is about the connection between the host and the server, and is the operator's affair.
 */
export interface Outward {
  failure(server: string, call: CallOf, failure: Failure): Failure;
  error(server: string, call: CallOf, error: unknown): McpError;
  /** The result of a tool that has failed, without secrets. Any other result as it is. */
  result(call: CallOf, result: CallToolResult): CallToolResult;
}

/** `onMasked` hears what callers were not told. */
export function createOutward(onMasked: (masked: MaskedFailure) => void): Outward {
  const failure: Outward["failure"] = (server, call, given) => {
    const { code, number } = given;
    if (!told.has(code)) {
      const id = crypto.randomUUID();
      onMasked({ server, method: call.method, id, reason: given });
      const data = { reason: "server-failed", server, id };
      return { code: "internal", message: `server ${server} failed, id ${id}`, data };
    }
    const hide = hideFrom(call);
    const data = given.data === undefined || exact.has(code) ? given.data : (maskJson(given.data, hide) as Json);
    const message = hide(briefly(given.message));
    return { code, message, ...(data !== undefined && { data }), ...(number !== undefined && { number }) };
  };

  return {
    failure,
    error(server, call, error) {
      if (isUnavailable(error)) {
        const data = { reason: "server-unavailable", server };
        return new McpError("internal", `server ${server} is not available`, { data, cause: error });
      }
      const given = error instanceof McpError ? error : new McpError("internal", String(error), { cause: error });
      if (given.code === "connection-closed") {
        return lost(server, given);
      }
      const shown = failure(server, call, toFailure(given));
      return new McpError(shown.code, shown.message, { ...shown, cause: error });
    },
    result(call, result) {
      if (result.isError !== true) return result;
      const keep = ownOf(call);
      const hide: Mask = (text) => maskText(text, (found) => (keep(found) ? found : hidden));
      const content = result.content.map((block) =>
        block.type === "text" ? { ...block, text: hide(block.text) } : block,
      );
      return { ...result, content };
    },
  };
}

/** A call whose connection did not survive, or that was never sent. */
function lost(server: string, error: McpError): McpError {
  const safeToRetry = isSafeToRetry(error);
  const retryAfterMs = retryAfterOf(error);
  const what = safeToRetry
    ? `the call was not sent to server ${server}`
    : `server ${server} was lost before it answered`;
  const when = retryAfterMs === undefined ? "" : `: it has not answered lately; retry in ${retryAfterMs} ms`;
  const data = {
    reason: "connection-closed",
    server,
    safeToRetry,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
  return new McpError("connection-closed", what + when, { data, cause: error });
}

function retryAfterOf({ data }: McpError): number | undefined {
  return isObject(data) && typeof data.retryAfterMs === "number" ? data.retryAfterMs : undefined;
}

/** What a failure says of the call. Any other is about the host and its server. */
const told: ReadonlySet<ErrorCode> = new Set([
  "invalid-request",
  "method-not-found",
  "invalid-params",
  "resource-not-found",
  "missing-capability",
  "url-elicitation-required",
  "rejected",
  "declined",
  "denied",
  "cancelled",
  "timeout",
  "limit-reached",
  "application",
]);

/** Failures whose data the protocol defines: clients act on them. */
const exact: ReadonlySet<ErrorCode> = new Set(["missing-capability", "url-elicitation-required"]);

const maxChars = 1_000;
const stackTrace = /\n\s+at \S|\n?Traceback \(most recent call last\)/;

/** A message without a stack trace, and not too long. */
function briefly(message: string): string {
  const [text = ""] = message.split(stackTrace);
  if (text === "") return "the server did not say why";
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
}

const absolutePath = /(?<![\w/.:~-])(?:file:\/\/)?(?:\/[\w.@+-]+){2,}\/?|(?<!\w)(?:[A-Za-z]:|\\)\\[^\s"'<>|]+/g;

/** Hides secrets and paths, unless the caller has sent them. */
function hideFrom(call: CallOf): Mask {
  const keep = ownOf(call);
  const hide = (found: string): string => (keep(found) ? found : hidden);
  return (text) => maskText(text.replaceAll(absolutePath, hide), hide);
}

/** Tells what was in the parameters of a call. */
function ownOf({ params }: CallOf): (text: string) => boolean {
  const sent = JSON.stringify(asJson(params));
  return (text) => sent.includes(JSON.stringify(text).slice(1, -1));
}
