import { toBase64Url } from "../../std/base64.ts";
import { digestText } from "../../std/digest.ts";
import { includesAll } from "../client/challenge.ts";
import type { GrantRecords } from "./grant-records.ts";
import type { AccessToken, Grant, GrantTerms } from "./record-types.ts";
import type { UpstreamTokenSource } from "./upstream-tokens.ts";

/** Tokens as the client gets them. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly scopes: readonly string[];
}

export type Refreshed =
  | { readonly ok: true; readonly tokens: IssuedTokens }
  | { readonly ok: false; readonly error: string };

/** An access token that is good now. */
export interface ActiveToken {
  readonly id: string;
  readonly grant: Grant;
  readonly scopes: readonly string[];
}

export interface Grants {
  /** A name for a grant that is made later. */
  newId(): string;
  create(id: string, terms: GrantTerms): Promise<IssuedTokens>;
  /** Undefined when the token is not one of ours, has expired or was revoked. */
  verify(accessToken: string): Promise<ActiveToken | undefined>;
  /** New tokens for a refresh token, which is valid for one use. A second use ends the grant. */
  refresh(refreshToken: string, clientId: string, scopes: readonly string[] | undefined): Promise<Refreshed>;
  /** Ends a grant, by its refresh token; or an access token. What is not a token of this client is ignored. */
  revoke(token: string, clientId: string): Promise<void>;
  /** Ends a grant. */
  end(id: string): Promise<void>;
}

interface GrantsOptions {
  readonly kept: GrantRecords;
  readonly upstreamTokens: UpstreamTokenSource;
  readonly tokenTtlMs: number;
  now(): number;
}

const DAY_MS = 86_400_000;
/** How long an unused grant lasts. */
const GRANT_TTL_MS = 30 * DAY_MS;
/** Grants of one user. The oldest is ended for one more. */
const MAX_GRANTS = 50;
/** Access tokens of one grant that are good at the same time. */
const MAX_ACCESS = 8;

export function createGrants({ kept, upstreamTokens, tokenTtlMs, now }: GrantsOptions): Grants {
  /** New tokens, and what becomes of their grant. */
  const mint = async (id: string, { refreshes }: GrantTerms, scopes: readonly string[]) => {
    const tokens = {
      accessToken: newToken("at", id),
      refreshToken: refreshes ? newToken("rt", id) : undefined,
      scopes,
    };
    const refresh = tokens.refreshToken && (await digestText(tokens.refreshToken));
    const access = { digest: await digestText(tokens.accessToken), scopes, expires: now() + tokenTtlMs };
    const apply = (terms: GrantTerms, others: readonly AccessToken[]): Grant => ({
      ...terms,
      expires: now() + (refreshes ? GRANT_TTL_MS : tokenTtlMs),
      refresh,
      access: [...others.filter(({ expires }) => expires > now()).slice(1 - MAX_ACCESS), access],
    });
    return { tokens, apply };
  };

  return {
    newId: () => now().toString(36).padStart(9, "0") + randomText(16),
    async create(id, terms) {
      const others = await kept.list(terms.principal);
      for (const other of others.slice(0, Math.max(0, others.length - MAX_GRANTS + 1))) await kept.delete(other);
      const { tokens, apply } = await mint(id, terms, terms.scopes);
      await kept.put(id, apply(terms, []));
      return tokens;
    },
    async verify(accessToken) {
      const id = idIn(accessToken, "at");
      const found = id === undefined ? undefined : await kept.get(id);
      if (id === undefined || found === undefined) return undefined;
      const digest = await digestText(accessToken);
      const access = found.value.access.find((one) => one.digest === digest);
      if (access === undefined || access.expires <= now()) return undefined;
      return { id, grant: found.value, scopes: access.scopes };
    },
    async refresh(refreshToken, clientId, scopes) {
      const id = idIn(refreshToken, "rt");
      const found = id === undefined ? undefined : await kept.get(id);
      if (id === undefined || found?.value.clientId !== clientId) return invalidGrant;
      const { value: grant } = found;
      const digest = await digestText(refreshToken);
      if (grant.refresh !== digest) {
        // The token was used before, so it was stolen from or by this client.
        await kept.delete(id);
        return invalidGrant;
      }
      const wanted = scopes ?? grant.scopes;
      if (!includesAll(grant.scopes, wanted)) return { ok: false, error: "invalid_scope" };
      if (!(await upstreamTokens.confirm(id, grant))) return invalidGrant;
      const { tokens, apply } = await mint(id, grant, wanted);
      const isFirst = (now: Grant): Grant | undefined => (now.refresh === digest ? apply(now, now.access) : undefined);
      if ((await kept.update(id, isFirst)) !== undefined) return { ok: true, tokens };
      await kept.delete(id);
      return invalidGrant;
    },
    async revoke(token, clientId) {
      const kind = token.startsWith("rt.") ? "rt" : "at";
      const id = idIn(token, kind);
      if (id === undefined) return;
      const digest = await digestText(token);
      const found = await kept.get(id);
      if (found?.value.clientId !== clientId) return;
      if (kind === "rt" && found.value.refresh === digest) await kept.delete(id);
      const without = (grant: Grant): Grant => ({
        ...grant,
        access: grant.access.filter((one) => one.digest !== digest),
      });
      if (kind === "at") await kept.update(id, without);
    },
    async end(id) {
      await kept.delete(id);
    },
  };
}

const invalidGrant = { ok: false, error: "invalid_grant" } as const;

/** A token names its grant, so that one look into the store finds everything about it. */
function newToken(kind: "at" | "rt", id: string): string {
  return `${kind}.${id}.${randomText(32)}`;
}

function idIn(token: string, kind: "at" | "rt"): string | undefined {
  const [, found, id] = /^(at|rt)\.([\w-]{20,64})\.[\w-]{43}$/.exec(token) ?? [];
  return found === kind ? id : undefined;
}

export function randomText(bytes: number): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(bytes)));
}
