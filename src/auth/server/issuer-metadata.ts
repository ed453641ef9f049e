import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../model/errors.ts";
import { fetchMetadata } from "../client/fetch-metadata.ts";
import { serverMetadataUrls } from "../client/well-known.ts";
import type { SafeFetch } from "../safe-fetch.ts";

/** What an issuer says of itself (RFC 8414, OpenID Connect). Rejects when nothing that calls itself exactly so says it. */
export async function fetchIssuer(issuer: string, fetch: SafeFetch): Promise<JsonObject> {
  const { origin } = new URL(issuer);
  let failure: McpError | undefined;
  for (const place of serverMetadataUrls(new URL(issuer))) {
    const found = await fetchMetadata(place, fetch);
    if (found.kind === "failed") failure ??= found.error;
    if (found.kind !== "found") continue;
    if (found.document.issuer === issuer) return found.document;
    failure = new McpError("invalid-response", `the metadata at ${origin} is of another issuer`);
  }
  throw failure ?? new McpError("invalid-response", `${origin} has no metadata`);
}

/** The URL by this name in a document. Throws when there is none. */
export function urlIn(document: JsonObject, name: string, origin: string): string {
  const url = document[name];
  if (typeof url === "string" && URL.canParse(url)) return url;
  throw new McpError("invalid-response", `${origin} names no ${name}`);
}
