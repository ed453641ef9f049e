import type { HttpRequestInfo } from "../std/http-facts.ts";
import type { ErrorCode } from "./errors.ts";
import type { Auth } from "./peer.ts";

/** Who sends a request, or why it is refused. */
export type Authentication<A = Auth> =
  /** Without `auth`, somebody who need not say who it is. */
  { readonly ok: true; readonly auth?: A | undefined } | AuthRejection;

/** Why a request is refused. Nothing in it may repeat credentials. */
export interface AuthRejection {
  readonly ok: false;
  /** 401: show who you are. 403: you may not. */
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
  /** For whoever runs the server, where it may be up to them: `onWarning` hears it, the client does not. */
  readonly warning?: string | undefined;
}

/** A way to authenticate, as challenges name it. */
export interface AuthScheme {
  /** Such as `Bearer`. */
  readonly scheme: string;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

/** What a protected server says of itself (RFC 9728). Further members are told as they are. */
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
  /** For whoever runs the server: `onWarning` hears it, the client does not. */
  readonly warning?: string | undefined;
  /** Why nobody got what was asked for: `onEvent` hears it, the client does not. Known for the statuses 401, 403 and 429. */
  readonly refusal?: ErrorCode | undefined;
}

/** Answers requests for one path, whatever their method. `body` is that of a POST. */
export type AuthRoute = (http: HttpRequestInfo, body: string) => RouteAnswer | Promise<RouteAnswer>;

/**
 * Finds out who sends a request, before anything else is done about it.
 *
 * A function of your own is one; what it has besides is optional. One that throws
 * could not tell: the client is told to retry later, and `onWarning` hears of it.
 * `A` is whom it finds: with which claims.
 */
export interface Authenticator<A = Auth> {
  (http: HttpRequestInfo): Authentication<A> | Promise<Authentication<A>>;
  /** Served to clients that look for a way to get a token. Without it they are told of none. */
  readonly metadata?: ResourceMetadata | undefined;
  /** Ways to authenticate, the preferred one first. Default: `Bearer`. */
  readonly schemes?: readonly AuthScheme[] | undefined;
  /** Scopes that every request takes: told with each challenge. */
  readonly requiredScopes?: readonly string[] | undefined;
  /** Headers with credentials, in lower case. Handlers do not see them, nor `authorization` and `dpop`. */
  readonly credentials?: readonly string[] | undefined;
  /**
   * Paths that are served beside the endpoint, such as `/token`. They are for those who have no token yet: only their
   * `Host` is checked, and that their body is short.
   */
  readonly routes?: Readonly<Record<string, AuthRoute>> | undefined;
}

/** A service that has pages for browsers. Whoever serves it over HTTP serves them beside the endpoint, to anybody. */
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

  /** What a request has shown. To be sent to nobody but an issuer that the operator has named. */
  static shown(http: AuthenticatedHttp): string | undefined {
    return http.#http.header("authorization");
  }
}

/** Who sent a request. Undefined when nobody has found out, or it need not be known. */
export function authOf(http: HttpRequestInfo | undefined): Auth | undefined {
  return http instanceof AuthenticatedHttp ? http.auth : undefined;
}
