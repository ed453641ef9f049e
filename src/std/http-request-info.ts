/** What is known of the HTTP request that brought a call. Header names are lower case. */
export interface HttpRequestInfo {
  readonly method: string;
  /** Path with query, as sent. */
  readonly url: string;
  header(name: string): string | undefined;
  /** The address of the other end, where it is known. A proxy in between has its own. */
  readonly remoteAddress?: string | undefined;
  /**
   * Keeps what the request began going until `work` settles, also when the client has left. Only where it would end
   * with the response: on Cloudflare Workers, when the handler was given all arguments of `fetch`.
   */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** The value of the option `platform` for the request. Handlers read `ctx.platform`. */
  readonly platform?: (() => unknown) | undefined;
}

/** Extends the lifetime of a request until the returned function is called, where a platform needs that. */
export function holdRequest(http: HttpRequestInfo | undefined): () => void {
  let letGo = (): void => {};
  if (http?.waitUntil !== undefined) {
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    http.waitUntil(held);
  }
  return letGo;
}
