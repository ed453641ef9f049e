import { rpcCodes } from "../../jsonrpc/message.ts";
import type { HttpFacts } from "../../std/http-facts.ts";

/** The head of one HTTP request: what handlers may know of it is all there is. */
export type HttpHead = HttpFacts;

export type HttpHeaders = Readonly<Record<string, string>>;

/** A whole answer. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: string;
}

/** An answer that refuses a request. Its body is a JSON-RPC error without id: nothing of the request was read. */
export function refusal(
  status: number,
  message: string,
  headers: HttpHeaders = {},
  code: number = rpcCodes.invalidRequest,
): HttpAnswer {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", error: { code, message } }),
  };
}

const MAX_QUOTED = 100;

/** What a peer sent, fit for a message or a log: in quotes, cut, without characters that do not show. */
export function quote(value: string | undefined): string {
  if (value === undefined) return "(none)";
  const end = value.length > MAX_QUOTED ? "…" : "";
  return `"${value.slice(0, MAX_QUOTED).replaceAll(/\p{C}/gu, "")}${end}"`;
}

/** The path of a request, without its query. */
export function pathOf(url: string): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
