import { digestText } from "../../std/digest.ts";
import type { Store } from "../../store/store.ts";

/** How much of the store those may fill who have not signed in yet. 0 switches a limit off. */
export interface OAuthProxyLimits {
  /** Clients that register, and metadata documents that are fetched, in an hour. Default 2,000. */
  readonly maxRegistrations?: number | undefined;
  /** Those of one address. Default 200. */
  readonly maxRegistrationsPerAddress?: number | undefined;
  /** Users who are sent to the provider in ten minutes, which is how long signing in may take. Default 10,000. */
  readonly maxSignIns?: number | undefined;
  /** Those of one address. Default 200. */
  readonly maxSignInsPerAddress?: number | undefined;
}

export type Counted = "registration" | "sign-in";

/** Counts what strangers begin, in all processes together. */
export interface Quota {
  /** Takes one for an address. The seconds after which to try again, when there is none left; else undefined. */
  take(what: Counted, address: string | undefined): Promise<number | undefined>;
}

interface Rule {
  readonly windowMs: number;
  readonly max: number;
  readonly maxPerAddress: number;
}

export function createQuota(store: Promise<Store>, resource: string, limits: OAuthProxyLimits = {}): Quota {
  const rules: Readonly<Record<Counted, Rule>> = {
    registration: {
      windowMs: 3_600_000,
      max: limits.maxRegistrations ?? 2_000,
      maxPerAddress: limits.maxRegistrationsPerAddress ?? 200,
    },
    "sign-in": {
      windowMs: 600_000,
      max: limits.maxSignIns ?? 10_000,
      maxPerAddress: limits.maxSignInsPerAddress ?? 200,
    },
  };

  const isOver = async (name: string, max: number, windowMs: number): Promise<boolean> => {
    if (max === 0) return false;
    return (await (await store).values.add(`oauth:count:${await digestText(name)}`, 1, windowMs)) > max;
  };

  return {
    async take(what, address = "unknown") {
      const { windowMs, max, maxPerAddress } = rules[what];
      const name = JSON.stringify([resource, what]);
      // An address that has used up its share takes nothing from the share of the others.
      const isRefused =
        (await isOver(`${name}${address}`, maxPerAddress, windowMs)) || (await isOver(name, max, windowMs));
      return isRefused ? Math.ceil(windowMs / 10_000) : undefined;
    },
  };
}
