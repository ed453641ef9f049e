import type { ResourceMetadata } from "../../model/authenticator.ts";
import { defined } from "../../std/defined.ts";
import { createHostCheck, isLoopback, parseAuthority } from "./allowed-hosts.ts";
import { type HttpAnswer, type HttpHead, type HttpHeaders, pathOf, refusal } from "./http-message.ts";

export interface MetadataOptions {
  readonly metadata: ResourceMetadata;
  /** Where the endpoint is. Absent where it is wherever requests reach it. */
  readonly path: string | undefined;
  /** Names of the server. */
  readonly hosts: readonly string[] | "any";
}

/** What a protected server says of itself to whoever asks (RFC 9728). */
export interface MetadataDesk {
  /** Answers a request for it. Undefined when the request is for something else. */
  answer(head: HttpHead): HttpAnswer | undefined;
  /** Where it is, for a request to the endpoint. */
  urlFor(head: HttpHead): string;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

export function createMetadataDesk({ metadata, path, hosts }: MetadataOptions): MetadataDesk {
  const { resource, ...rest } = metadata;
  const known = resource === undefined ? undefined : new URL(resource);
  const checkHost = createHostCheck(hosts);
  const fixedPath = withoutSlash(known?.pathname ?? path);
  const served = new Set([fixedPath, withoutSlash(path)]);
  const originOf = (head: HttpHead): string => known?.origin ?? originFrom(head.header("host"));

  /** The path of the endpoint that the metadata is asked of. Undefined when there is none there. */
  const endpointOf = (asked: string): string | undefined => {
    if (!asked.startsWith(WELL_KNOWN)) return undefined;
    const rest = withoutSlash(asked.slice(WELL_KNOWN.length)) ?? "";
    if (rest === "") return fixedPath ?? "";
    if (fixedPath === undefined) return rest.startsWith("/") ? rest : undefined;
    return served.has(rest) ? fixedPath : undefined;
  };

  return {
    answer(head) {
      const endpoint = endpointOf(pathOf(head.url));
      if (endpoint === undefined) return undefined;
      const badHost = checkHost(head.header("host"));
      if (badHost !== undefined) return refusal(403, badHost);
      if (head.method === "OPTIONS") return { status: 204, headers: preflight, body: "" };
      if (head.method !== "GET") return refusal(405, "metadata can only be read; use GET", { ...open, allow: "GET" });
      const named = resource ?? `${originOf(head)}${endpoint}`;
      const caching = { "cache-control": known === undefined ? "no-store" : "max-age=300" };
      return {
        status: 200,
        headers: { ...open, ...caching, "content-type": "application/json" },
        body: JSON.stringify(defined({ resource: named, ...rest })),
      };
    },
    urlFor: (head) => `${originOf(head)}${WELL_KNOWN}${fixedPath ?? withoutSlash(pathOf(head.url))}`,
  };
}

/** Any page may read it: it is the same for everybody. */
const open: HttpHeaders = { "access-control-allow-origin": "*" };
const preflight: HttpHeaders = {
  ...open,
  "access-control-allow-methods": "GET",
  "access-control-allow-headers": "*",
  "access-control-max-age": "600",
};

/** What clients call the server by. Only this machine may be reached without TLS; who ends that in front is not seen here. */
function originFrom(host = ""): string {
  const { name = "" } = parseAuthority(host) ?? {};
  return `${isLoopback(name) ? "http" : "https"}://${host}`;
}

function withoutSlash(path: string | undefined): string | undefined {
  return path?.endsWith("/") ? path.slice(0, -1) : path;
}
