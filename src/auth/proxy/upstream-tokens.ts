import { callerMissing, McpError } from "../../protocol/errors.ts";
import { isRequestBound } from "../../std/clock.ts";
import type { Store } from "../../store/store.ts";
import { unauthorized } from "../client/problems.ts";
import { withLease } from "../client/token-store.ts";
import type { GrantRecords } from "./grant-records.ts";
import type { UpstreamTokens } from "./provider-adapter.ts";
import type { Grant } from "./record-types.ts";
import type { Upstream } from "./upstream.ts";

/** Tokens of the provider, by grant. */
export interface UpstreamTokenSource {
  /** An access token that is good for a while. Rejects with `unauthorized` when the sign-in has ended, here or there. */
  get(grantId: string): Promise<string>;
  /** Asks the provider whether it still knows the user. False, and the grant is over, when it does not. */
  confirm(grantId: string, grant: Grant): Promise<boolean>;
}

interface UpstreamTokensOptions {
  readonly kept: GrantRecords;
  readonly store: Promise<Store>;
  readonly upstream: Upstream;
  now(): number;
}

/** A token that ends so soon is refreshed first. */
const MARGIN_MS = 60_000;

export function createUpstreamTokens({ kept, store, upstream, now }: UpstreamTokensOptions): UpstreamTokenSource {
  const refreshing = new Map<string, Promise<UpstreamTokens>>();
  const isStale = ({ expires }: UpstreamTokens): boolean => expires !== undefined && expires - now() < MARGIN_MS;

  const freshen = async (id: string): Promise<UpstreamTokens> => {
    const found = await kept.get(id);
    if (found === undefined) throw ended();
    // Whoever had the lease before may have done it.
    if (!isStale(found.value.upstream)) return found.value.upstream;
    try {
      const fresh = await upstream.refresh(found.value.upstream);
      await kept.update(id, (grant) => ({ ...grant, upstream: fresh }));
      return fresh;
    } catch (error) {
      if (isOver(error)) await kept.delete(id);
      throw error;
    }
  };

  /** One process at a time refreshes, and in a process one call for all that wait. */
  const freshenOnce = (id: string): Promise<UpstreamTokens> => {
    const work = async () => withLease(await store, `oauth:upstream:${id}`, () => freshen(id));
    if (isRequestBound) return work();
    const waiting = refreshing.get(id) ?? work().finally(() => refreshing.delete(id));
    refreshing.set(id, waiting);
    return waiting;
  };

  return {
    async get(id) {
      try {
        const found = await kept.get(id);
        if (found === undefined) throw ended();
        const { accessToken } = isStale(found.value.upstream) ? await freshenOnce(id) : found.value.upstream;
        return accessToken;
      } catch (error) {
        // The client that made the call can sign its user in again.
        throw isOver(error) ? callerMissing("the sign-in of this user has ended: sign in again") : error;
      }
    },
    async confirm(id, { upstream: tokens }) {
      try {
        if (tokens.expires === undefined) await upstream.check(tokens);
        else if (tokens.refreshToken !== undefined && isStale(tokens)) await freshenOnce(id);
        return true;
      } catch (error) {
        if (!isOver(error)) throw error;
        await kept.delete(id);
        return false;
      }
    },
  };
}

/** Whether the provider gives this user no more tokens. */
function isOver(error: unknown): boolean {
  return error instanceof McpError && error.code === "unauthorized";
}

function ended(): McpError {
  return unauthorized("invalid-token", "the sign-in of this user has ended; sign in again");
}
