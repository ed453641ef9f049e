/** What is known of the HTTP request that brought a call. Header names are lower case. */
export interface HttpFacts {
  readonly method: string;
  /** Path with query, as sent. */
  readonly url: string;
  header(name: string): string | undefined;
  /** The address of the other end, where it is known. A proxy in between has its own. */
  readonly remote?: string | undefined;
}
