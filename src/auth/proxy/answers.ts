import type { RouteAnswer } from "../../protocol/authenticator.ts";

/** Any page may read what has no cookie behind it. */
export const openToPages: Readonly<Record<string, string>> = Object.freeze({ "access-control-allow-origin": "*" });

const unkept = { "cache-control": "no-store", pragma: "no-cache" };

/** A JSON response that must not be cached. */
export function jsonAnswer(status: number, body: object, headers: Readonly<Record<string, string>> = {}): RouteAnswer {
  return {
    status,
    headers: { ...openToPages, ...unkept, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

/** An OAuth error. `description` is for people and must not contain secrets. */
export function oauthError(
  status: number,
  error: string,
  description: string,
  headers: Readonly<Record<string, string>> = {},
): RouteAnswer {
  return jsonAnswer(status, { error, error_description: description }, headers);
}

/** The error for too many requests. */
export function tooMany(retryAfterS: number): RouteAnswer {
  return oauthError(429, "temporarily_unavailable", "there are too many requests; retry later", {
    "retry-after": String(retryAfterS),
  });
}

/** Redirects a browser, without a referrer. */
export function redirectTo(url: URL | string, headers: Readonly<Record<string, string>> = {}): RouteAnswer {
  return {
    status: 303,
    headers: { ...unkept, "referrer-policy": "no-referrer", location: String(url), ...headers },
    body: "",
  };
}

/** The answer to a method that a path does not serve, or to a preflight. Undefined when the method is the one. */
export function otherMethod(method: string, served: "GET" | "POST"): RouteAnswer | undefined {
  if (method === served) return undefined;
  if (method !== "OPTIONS") {
    const headers = { ...openToPages, "content-type": "text/plain", allow: served };
    return { status: 405, headers, body: `use ${served}` };
  }
  const headers = {
    ...openToPages,
    "access-control-allow-methods": served,
    "access-control-allow-headers": "content-type, authorization, mcp-protocol-version",
    "access-control-max-age": "600",
  };
  return { status: 204, headers, body: "" };
}
