import type { HttpAnswer, HttpHead, HttpHeaders } from "./http-message.ts";

/** Headers of every answer to a request that is not from a listed origin. Caches must not mix it with answers to one that is. */
export const plainHeaders: HttpHeaders = Object.freeze({ vary: "origin" });

const exposed = "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after, dpop-nonce";

/** Headers of every answer to a request from an origin that is listed. */
export function corsHeaders(origin: string): HttpHeaders {
  return Object.freeze({
    ...plainHeaders,
    "access-control-allow-origin": origin,
    "access-control-expose-headers": exposed,
  });
}

const allowed = [
  "content-type",
  "accept",
  "authorization",
  "last-event-id",
  "mcp-session-id",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "traceparent",
  "tracestate",
  "baggage",
  "dpop",
];

/** Tools may name headers of this form for their arguments. */
const paramHeader = /^mcp-param-[!#$%&'*+.^_`|~\w-]+$/;

/**
 * The answer to a browser that asks what a page of a listed origin may send.
 *
 * Methods are those of the protocol, served or not: a page can read a 405, but
 * not why its browser sent nothing. No cookies, no credentials, never `*`.
 */
export function preflight(origin: string, head: HttpHead): HttpAnswer {
  const wanted = (head.header("access-control-request-headers") ?? "").toLowerCase().split(",");
  const params = wanted.map((name) => name.trim()).filter((name) => paramHeader.test(name));
  return {
    status: 204,
    headers: {
      ...plainHeaders,
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
      "access-control-allow-headers": [...allowed, ...params].join(", "),
      "access-control-max-age": "600",
      ...(head.header("access-control-request-private-network") === "true" && {
        "access-control-allow-private-network": "true",
      }),
    },
    body: "",
  };
}
