import type { HttpFacts } from "../../std/http-facts.ts";

/**
 * The URLs, without query, that a client may have sent a request to. What ends TLS
 * on the way may rewrite all of them but the one that the server is known by.
 */
export function urlsOf(http: HttpFacts, resource: string | undefined): readonly string[] {
  const path = http.url.split("?", 1)[0] ?? "";
  if (resource === undefined)
    return readable(["https", "http"].map((scheme) => `${scheme}://${http.header("host")}${path}`));
  return readable([resource, new URL(resource).origin + path]);
}

function readable(urls: readonly string[]): readonly string[] {
  return urls
    .filter((url) => URL.canParse(url))
    .map((url) => {
      const { origin, pathname } = new URL(url);
      return `${origin}${pathname}`;
    });
}
