import type { Authorizer } from "../../../model/authorizer.ts";
import { McpError } from "../../../model/errors.ts";
import type { LazyAbort } from "../../../std/lazy-abort.ts";
import type { HttpSend, IncomingResponse, OutgoingRequest } from "../http-send.ts";
import { sendAuthorized } from "./authorized.ts";
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
  /** Shows the server who we are. Headers of the user that do so as well win. */
  readonly auth?: Authorizer | undefined;
  /** The server, when this is another URL of it. */
  readonly server?: URL | undefined;
}

/** Throws `invalid-params` when the headers cannot be sent. */
export function createEndpoint(options: EndpointOptions): Endpoint {
  const { url, send, headers = {}, auth, server = url } = options;
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

  const ask = (request: EndpointRequest, own: Headers | undefined, abort: LazyAbort) => {
    if (auth === undefined || own?.authorization !== undefined) return go(request, own, abort);
    const sendWith = (shown: Headers) => go(request, { ...own, ...shown }, abort);
    return sendAuthorized(auth, { method: request.method, url, server }, { send: sendWith, abort });
  };

  return {
    url,
    send(request, abort) {
      if (abort.aborted) return Promise.reject(new McpError("cancelled", "the request was given up"));
      if (typeof headers === "function") return askHeaders(headers).then((own) => ask(request, own, abort));
      return ask(request, hasFixed ? fixed : undefined, abort);
    },
    at: (other) => createEndpoint({ ...options, url: other, server }),
  };
}
