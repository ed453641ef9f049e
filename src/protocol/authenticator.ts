import type { HttpRequestInfo } from "../std/http-request-info.ts";
import type { ErrorCode } from "./errors.ts";
import type { Auth } from "./peer.ts";

/** The caller of a request, or the reason for its rejection. */
export type Authentication<A = Auth> =
  /** Without `auth`, an anonymous caller. */
  { readonly ok: true; readonly auth?: A | undefined } | AuthRejection;

/** Why a request is refused. Nothing in it may repeat credentials. */
export interface AuthRejection {
  readonly ok: false;
  /** 401: credentials are missing or invalid. 403: the caller is not allowed to. */
  readonly status: 401 | 403;
  /** As OAuth calls it, such as `invalid_token`. Only where credentials came: without them nothing was wrong. */
  readonly error?: string | undefined;
  /** For people. */
  readonly description?: string | undefined;
  /** All scopes that it takes. */
  readonly scopes?: readonly string[] | undefined;
  /** The scheme of the credentials that came. Default: the first that is offered. */
  readonly scheme?: string | undefined;
  /** To go with the answer. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** A problem that the operator may have to solve: passed to `onWarning`, not to the client. */
  readonly warning?: string | undefined;
}

/** A way to authenticate, as challenges name it. */
export interface AuthScheme {
  /** Such as `Bearer`. */
  readonly scheme: string;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

/** Metadata of a protected resource (RFC 9728). Further members are published unchanged. */
export interface ResourceMetadata {
  /** The URL of the server. Default: by what the client called it. */
  readonly resource?: string | undefined;
  /** Issuers of the tokens it takes. */
  readonly authorization_servers?: readonly string[] | undefined;
  readonly scopes_supported?: readonly string[] | undefined;
  readonly resource_name?: string | undefined;
  readonly resource_documentation?: string | undefined;
  readonly [member: string]: string | number | boolean | readonly string[] | undefined;
}

/** The whole answer of a route. */
export interface RouteAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** A problem for the operator: passed to `onWarning`, not to the client. */
  readonly warning?: string | undefined;
  /** Why nobody got what was asked for: `onEvent` hears it, the client does not. Known for the statuses 401, 403 and 429. */
  readonly refusal?: ErrorCode | undefined;
}

/** Answers requests for one path, whatever their method. `body` is that of a POST. */
export type AuthRoute = (http: HttpRequestInfo, body: string) => RouteAnswer | Promise<RouteAnswer>;

/**
 * Authenticates the sender of a request before anything else happens.
 *
 * A function of your own is an authenticator; its other members are optional. When it throws, the client is asked to
 * retry later, and `onWarning` is called. `A` is the type of the caller, with its claims.
 */
export interface Authenticator<A = Auth> {
  (http: HttpRequestInfo): Authentication<A> | Promise<Authentication<A>>;
  /** Metadata for clients that look for an authorization server. Without it, none is published. */
  readonly metadata?: ResourceMetadata | undefined;
  /** Ways to authenticate, the preferred one first. Default: `Bearer`. */
  readonly schemes?: readonly AuthScheme[] | undefined;
  /** Scopes that every request requires: listed in each challenge. */
  readonly requiredScopes?: readonly string[] | undefined;
  /** Headers with credentials, in lower case. Handlers do not see them, nor `authorization` and `dpop`. */
  readonly credentials?: readonly string[] | undefined;
  /**
   * Routes that are served beside the endpoint, such as `/token`. Their callers have no token yet, so only `Host` and
   * the length of the body are checked.
   */
  readonly routes?: Readonly<Record<string, AuthRoute>> | undefined;
}

/** A service with pages for browsers, which are served beside its HTTP endpoint without authentication. */
export interface RoutedService {
  /** By path. Only their `Host` is checked, and that their body is short. */
  readonly routes?: Readonly<Record<string, AuthRoute>> | undefined;
}

/** A request whose sender is known. Its credentials are not to be seen any more. */
export class AuthenticatedHttp implements HttpRequestInfo {
  readonly auth: Auth | undefined;
  readonly #http: HttpRequestInfo;
  readonly #hidden: ReadonlySet<string>;

  /** `hidden` are names of headers, in lower case. */
  constructor(http: HttpRequestInfo, auth: Auth | undefined, hidden: ReadonlySet<string>) {
    this.#http = http;
    this.auth = auth;
    this.#hidden = hidden;
  }

  get method(): string {
    return this.#http.method;
  }

  get url(): string {
    return this.#http.url;
  }

  get remoteAddress(): string | undefined {
    return this.#http.remoteAddress;
  }

  get waitUntil(): HttpRequestInfo["waitUntil"] {
    return this.#http.waitUntil;
  }

  get platform(): HttpRequestInfo["platform"] {
    return this.#http.platform;
  }

  header(name: string): string | undefined {
    return this.#hidden.has(name.toLowerCase()) ? undefined : this.#http.header(name);
  }

  /** The credentials of a request. Only an issuer that the operator has configured may receive them. */
  static shown(http: AuthenticatedHttp): string | undefined {
    return http.#http.header("authorization");
  }
}

/** The caller of a request. Undefined when it is anonymous. */
export function authOf(http: HttpRequestInfo | undefined): Auth | undefined {
  return http instanceof AuthenticatedHttp ? http.auth : undefined;
}
