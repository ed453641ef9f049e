import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../model/errors.ts";
import type { SafeFetch } from "../safe-fetch.ts";
import { objectOf } from "../safe-fetch-body.ts";

export interface Found {
  readonly kind: "found";
  readonly document: JsonObject;
}

/** A document, that there is none, or that nobody can tell. */
export type Metadata = Found | { readonly kind: "missing" } | { readonly kind: "failed"; readonly error: McpError };

/** Fetches a document. Pages that are no JSON count as missing: some servers have one for every path. */
export async function fetchMetadata(place: string | URL, fetch: SafeFetch): Promise<Metadata> {
  try {
    const response = await fetch(place);
    const document = response.ok ? await objectOf(response) : undefined;
    if (document !== undefined) return { kind: "found", document };
    if (response.status < 500) return { kind: "missing" };
    const { origin } = new URL(place);
    return { kind: "failed", error: new McpError("http-error", `${origin} answered ${response.status}`) };
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    const isPage = error.code === "invalid-response" && error.data === undefined;
    return isPage ? { kind: "missing" } : { kind: "failed", error };
  }
}

/** A document as what its members were checked to be. The rest of them are checked where they are used. */
export function asObject<T extends object>(document: JsonObject): T {
  return document as unknown as T;
}
