import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { digestText } from "../../std/digest.ts";
import { objectOf, type SafeFetch } from "../safe-fetch.ts";
import type { Quota } from "./quota.ts";
import type { RegisteredClient } from "./record-types.ts";
import type { ProxyRecords, Records } from "./records.ts";
import { redirectUriProblem } from "./redirect-uri.ts";

/** A client, or what is wrong with it. */
export type FoundClient =
  | { readonly ok: true; readonly client: RegisteredClient }
  | { readonly ok: false; readonly problem: string; readonly isBusy?: boolean };

/** The clients that this server knows, or can find out about. */
export interface Clients {
  /** Finds a client by its id, and reads its metadata document where the id is the URL of one. */
  find(clientId: string, address: string | undefined): Promise<FoundClient>;
  /** Keeps a client for a few hours, until somebody signs in with it. */
  register(client: RegisteredClient): Promise<void>;
  /** Keeps a registered client for as long as it is used. False when it is not known (any more). */
  keep(clientId: string): Promise<boolean>;
}

interface ClientsOptions {
  readonly records: Records<ProxyRecords>;
  /** Fetches metadata documents. */
  readonly fetch: SafeFetch;
  readonly isRedirectAllowed: (uri: string) => boolean;
  readonly quota: Quota;
}

const HOUR_MS = 3_600_000;
/** How long a registration lasts with which nobody has signed in. */
const UNUSED_TTL_MS = 6 * HOUR_MS;
/** How long one lasts that nobody uses any more. */
const USED_TTL_MS = 90 * 24 * HOUR_MS;

export function createClients({ records, fetch, isRedirectAllowed, quota }: ClientsOptions): Clients {
  const findDocument = async (url: string, address: string | undefined): Promise<FoundClient> => {
    const problem = documentUrlProblem(url);
    if (problem !== undefined) return { ok: false, problem: `its id ${problem}` };
    const name = await digestText(url);
    const kept = await records.get("document", name);
    if (kept !== undefined) return { ok: true, client: kept.value };
    if ((await quota.take("registration", address)) !== undefined) return busy;
    const read = await readDocument(url, fetch);
    if (!read.ok) return read;
    const client = toClient({ ...read.document, client_id: url }, isRedirectAllowed);
    if (!client.ok) return client;
    const described = { ...client.client, host: new URL(url).host };
    await records.put("document", name, described, { ttlMs: read.ttlMs });
    return { ok: true, client: described };
  };

  return {
    async find(clientId, address) {
      if (isDocumentUrl(clientId)) return findDocument(clientId, address);
      const kept = isClientId.test(clientId) ? await records.get("client", clientId) : undefined;
      return kept === undefined ? unknown : { ok: true, client: kept.value };
    },
    async register(client) {
      await records.put("client", client.clientId, client, { ttlMs: UNUSED_TTL_MS });
    },
    async keep(clientId) {
      if (isDocumentUrl(clientId)) return true;
      if (!isClientId.test(clientId) || (await records.get("client", clientId)) === undefined) return false;
      await records.touch("client", clientId, USED_TTL_MS);
      return true;
    },
  };
}

const isClientId = /^[\w-]{22}$/;
const unknown: FoundClient = { ok: false, problem: "it is not registered here, or not any more" };

const busy: FoundClient = { ok: false, problem: "too many new ones have come", isBusy: true };

function isDocumentUrl(clientId: string): boolean {
  return clientId.includes(":");
}

/** What is wrong with the URL of a metadata document. Undefined when nothing is. */
function documentUrlProblem(text: string): string | undefined {
  if (text.length > 2_000 || !URL.canParse(text)) return "is not a URL";
  const { protocol, pathname, hash, username, password, href } = new URL(text);
  if (protocol !== "https:") return "must be an https URL";
  if (pathname === "/" || hash !== "" || username !== "" || password !== "") {
    return "must have a path, no fragment and no credentials";
  }
  // Whatever is written in two ways might be taken for two clients, or for another one.
  return href === text ? undefined : "must be written in its normal form";
}

type ReadDocument =
  | { readonly ok: true; readonly document: JsonObject; readonly ttlMs: number }
  | { readonly ok: false; readonly problem: string };

/** Who asks learns nothing of the network of this server: every failure is told in the same words. */
const unreadable = { ok: false, problem: "its metadata document cannot be read" } as const;

async function readDocument(url: string, fetch: SafeFetch): Promise<ReadDocument> {
  let response: Response;
  try {
    response = await fetch(url);
  } catch (error) {
    if (error instanceof McpError) return unreadable;
    throw error;
  }
  const document = response.status === 200 ? await objectOf(response) : undefined;
  if (document === undefined) return unreadable;
  if (document.client_id !== url) return { ok: false, problem: "its metadata document is of another client" };
  const { token_endpoint_auth_method: method = "none" } = document;
  if (method !== "none")
    return { ok: false, problem: "its metadata document asks for authentication with a key or a secret" };
  return { ok: true, document, ttlMs: ttlOf(response.headers.get("cache-control")) };
}

const MINUTE_MS = 60_000;

/** How long a document is used: as long as it says, but a minute at least and a day at most. Default 5 min. */
function ttlOf(cacheControl: string | null): number {
  if (/\bno-(?:store|cache)\b/i.test(cacheControl ?? "")) return MINUTE_MS;
  const [, seconds] = /\bmax-age=(\d{1,9})/i.exec(cacheControl ?? "") ?? [];
  if (seconds === undefined) return 5 * MINUTE_MS;
  return Math.min(Math.max(Number(seconds) * 1_000, MINUTE_MS), 24 * HOUR_MS);
}

const MAX_REDIRECTS = 20;
/** Characters of all of them. */
const MAX_REDIRECT_CHARACTERS = 8_192;
const MAX_NAME = 100;

/** Reads what a client says of itself, by its registration (RFC 7591) or its metadata document. */
export function toClient(metadata: JsonObject, isRedirectAllowed: (uri: string) => boolean): FoundClient {
  const {
    client_id: clientId,
    client_name: name,
    redirect_uris: uris,
    grant_types: grants,
    response_types: types,
  } = metadata;
  if (!Array.isArray(uris) || uris.length === 0) return { ok: false, problem: "it has no redirect_uris" };
  if (uris.length > MAX_REDIRECTS) return { ok: false, problem: `it has more than ${MAX_REDIRECTS} redirect_uris` };
  if (uris.join("").length > MAX_REDIRECT_CHARACTERS) return { ok: false, problem: "its redirect_uris are too long" };
  for (const uri of uris) {
    const problem = redirectUriProblem(uri);
    if (problem !== undefined) return { ok: false, problem: `one of its redirect_uris ${problem}` };
    if (!isRedirectAllowed(String(uri)))
      return { ok: false, problem: "one of its redirect_uris is not among those that this server allows" };
  }
  if (Array.isArray(grants) && !grants.includes("authorization_code")) {
    return { ok: false, problem: "its grant_types lack authorization_code" };
  }
  if (Array.isArray(types) && !types.includes("code")) return { ok: false, problem: "its response_types lack code" };
  return {
    ok: true,
    client: {
      clientId: String(clientId),
      name: readable(name) || "An application without a name",
      redirectUris: uris.map(String),
      refreshes: !Array.isArray(grants) || grants.includes("refresh_token"),
    },
  };
}

/** A name of somebody else, without what does not show or changes how the rest is read. */
function readable(name: unknown): string {
  if (typeof name !== "string") return "";
  const shown = name
    .normalize("NFC")
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  return [...shown].slice(0, MAX_NAME).join("");
}
