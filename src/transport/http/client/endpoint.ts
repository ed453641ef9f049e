import { McpError } from "../../../model/errors.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import type { HttpSend, IncomingResponse, OutgoingRequest } from "../http-send.ts";
import { networkError } from "./http-errors.ts";
import { followRedirects, isRedirect } from "./redirects.ts";
import { askHeaders, type HeaderSource, type Headers, readHeaders } from "./user-headers.ts";

/** One URL of a server, and how to speak with it. */
export interface Endpoint {
  readonly url: URL;
  /** Sends one request with the headers of the user. Rejects with an `McpError` when there is no answer. */
  send(request: EndpointRequest, abort: LazyAbort): Promise<IncomingResponse>;
  /** The same server, at another URL. */
  at(url: URL): Endpoint;
}

export type EndpointRequest = Omit<OutgoingRequest, "url">;

export interface EndpointOptions {
  readonly url: URL;
  readonly send: HttpSend;
  readonly headers?: HeaderSource | undefined;
}

/** Throws `invalid-params` when the headers cannot be sent. */
export function createEndpoint({ url, send, headers = {} }: EndpointOptions): Endpoint {
  const fixed = typeof headers === "function" ? {} : readHeaders(headers);
  const hasFixed = Object.keys(fixed).length > 0;

  const fail = (error: unknown): never => {
    throw networkError(url, error);
  };

  const go = ({ method, headers: given, body }: EndpointRequest, own: Headers | undefined, abort: LazyAbort) => {
    const all = own === undefined ? given : { ...own, ...given };
    const request: OutgoingRequest =
      body === undefined ? { method, url, headers: all } : { method, url, headers: all, body };
    const follow = (response: IncomingResponse): IncomingResponse | Promise<IncomingResponse> =>
      isRedirect(response.status) ? followRedirects(send, request, response, abort).catch(fail) : response;
    return send(request, abort).then(follow, fail);
  };

  return {
    url,
    send(request, abort) {
      if (abort.aborted) return Promise.reject(new McpError("cancelled", "the request was given up"));
      if (typeof headers === "function") return askHeaders(headers).then((own) => go(request, own, abort));
      return go(request, hasFixed ? fixed : undefined, abort);
    },
    at: (other) => createEndpoint({ url: other, send, headers }),
  };
}
