/**
 * A request to a protected server, as far as credentials may depend on it. The
 * same object for every attempt at one request.
 */
export interface AuthorizedRequest {
  readonly method: string;
  /** Where it goes. Credentials must never go anywhere else. */
  readonly url: URL;
  /** The server it is for, at the URL that the user knows it by. */
  readonly server: URL;
}

/** What a request was answered with. */
export interface AuthorizedResponse {
  readonly status: number;
  header(name: string): string | undefined;
}

/**
 * How a client shows a server at a URL who it is. One serves for all requests
 * of a connection, and may serve for several connections.
 */
export interface Authorizer {
  /** Headers to send with a request. Rejects when they cannot be had; then it is not sent. */
  headers(request: AuthorizedRequest): Promise<Readonly<Record<string, string>>>;
  /**
   * Hears that a request was refused with 401 or 403. True when it is worth
   * sending again, with other headers. Rejects when it is not, and says why.
   */
  refused(request: AuthorizedRequest, answer: AuthorizedResponse, options?: RefusedOptions): Promise<boolean>;
  /** Hears of every answer. */
  answered?(request: AuthorizedRequest, answer: AuthorizedResponse): void;
  /** Signs in to a server now, with the scopes that it has asked for: the only way where `interactive` is false. */
  signIn?(server: string | URL): Promise<void>;
  /** Forgets the credentials for a server, and gives them back where that is possible. */
  signOut?(server: string | URL): Promise<void>;
}

/** How far an authorizer may go for a request. */
export interface RefusedOptions {
  /**
   * False when no user may be asked: then it rejects with `unauthorized` and the reason `interaction-required` in place of
   * opening a page. Default true.
   */
  readonly interactive?: boolean | undefined;
}
