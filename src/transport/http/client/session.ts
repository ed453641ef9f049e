import type { JsonObject } from "../../../json/json.ts";
import { McpError } from "../../../model/errors.ts";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import type { IncomingResponse } from "../http-send.ts";
import type { HttpParts } from "./parts.ts";

/** What a server has agreed to and wants to hear again with every request. Another object is another session. */
export interface HttpSession {
  /** Absent when the server keeps none, or nothing is agreed yet. */
  readonly id?: string;
  readonly version?: string;
}

/** The session that a successful `initialize` opened, or `invalid-response` when its id cannot be sent back. */
export function sessionOf(response: IncomingResponse, { protocolVersion }: JsonObject): HttpSession | McpError {
  const id = response.header("mcp-session-id");
  if (id !== undefined && !/^[\x21-\x7e]+$/.test(id)) {
    return new McpError("invalid-response", "the session id of the server holds characters it must not have");
  }
  return {
    ...(id !== undefined && { id }),
    ...(typeof protocolVersion === "string" && /^[\x21-\x7e]+$/.test(protocolVersion) && { version: protocolVersion }),
  };
}

export function sessionHeaders({ id, version }: HttpSession): Readonly<Record<string, string>> {
  const said = version !== undefined && version >= firstWithHeader ? version : undefined;
  if (id === undefined) return said === undefined ? {} : { "mcp-protocol-version": said };
  return said === undefined ? { "mcp-session-id": id } : { "mcp-session-id": id, "mcp-protocol-version": said };
}

/** Servers take the absence of the header for an older revision, and some do not take the header for one. */
const firstWithHeader = "2025-06-18";

/** How long a server may take to end a session when we leave. */
const farewellMs = 1_000;

/** Tells the server that a session is over. It may not care. Never rejects. */
export async function endSession(session: HttpSession, { endpoint, clock }: HttpParts): Promise<void> {
  if (session.id === undefined) return;
  const abort = new LazyAbort();
  const stop = clock.after(farewellMs, () => abort.abort("timeout"));
  try {
    (await endpoint.send({ method: "DELETE", headers: sessionHeaders(session) }, abort)).discard();
  } catch {
    // It ends by itself some day.
  }
  stop();
}
