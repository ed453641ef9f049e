import { rpcCodes } from "../../jsonrpc/message.ts";

/** The head of one HTTP request, as plain values. Header names are lower case. */
export interface HttpHead {
  readonly method: string;
  /** Path with query, as sent. */
  readonly url: string;
  header(name: string): string | undefined;
  /** The address of the other end, where it is known. */
  readonly remote?: string | undefined;
}

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
