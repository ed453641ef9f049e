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
 * Authorizes the requests of a client to a server at a URL. One authorizer serves all requests of a connection, and may
 * serve several connections.
 */
export interface Authorizer {
  /** Headers to send with a request. Rejects when there are no credentials; then the request is not sent. */
  headers(request: AuthorizedRequest): Promise<Readonly<Record<string, string>>>;
  /**
   * Called when a request was rejected with 401 or 403. True when it should be sent again with new headers. Rejects,
   * with the reason, when it should not.
   */
  refused(request: AuthorizedRequest, answer: AuthorizedResponse, options?: RefusedOptions): Promise<boolean>;
  /** Called with every response. */
  answered?(request: AuthorizedRequest, answer: AuthorizedResponse): void;
  /** Signs in to a server now, with the scopes that it has asked for: the only way where `interactive` is false. */
  signIn?(server: string | URL): Promise<void>;
  /** Deletes the credentials for a server, and revokes them where possible. */
  signOut?(server: string | URL): Promise<void>;
}

/** How far an authorizer may go for a request. */
export interface RefusedOptions {
  /**
   * False when the user must not be asked: then it rejects with `unauthorized` and the reason `interaction-required`
   * instead of opening a page. Default true.
   */
  readonly interactive?: boolean | undefined;
}
