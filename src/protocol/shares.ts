import type { Clock } from "../std/clock.ts";
import { createExpiry } from "../store/expiring-map.ts";
import type { Held, Ledger, LedgerStatus, Shortage } from "./budget.ts";

/** The amount of each kind of resource. */
export type Amounts = { readonly [H in Held]?: number };

/** Something that is retained for an account. */
export interface Share {
  readonly amounts: Amounts;
  /** Changes its amount, regardless of limits. Evictable shares make room for it first. */
  resize(amounts: Amounts): void;
  /**
   * Makes it evictable: when room is needed, `evict` is called and returns the amount that remains. A share with
   * `to: "others"` is evicted last, and not for its own account.
   */
  yields(evict: () => Amounts, to?: "all" | "others"): void;
  /** Returns its amount. Idempotent. */
  release(): void;
}

/** Shares by name, each until its time: then it is released. */
export interface ShareMap {
  get(name: string): Share | undefined;
  /** For ever when `ttlMs` is left out. */
  set(name: string, share: Share, ttlMs: number | undefined): void;
  /** Releases it. */
  delete(name: string): void;
}

/**
 * What a server, or a host, retains for each of its callers, within budgets.
 *
 * When an account is at its limit, its oldest evictable share is evicted. When the process is, it is the oldest of the
 * largest account, unless the requesting account would then be as large: then one of its own is evicted, or the request
 * is refused.
 */
export interface Shares {
  /** Takes all of it or nothing. */
  take(account: string, amounts: Amounts): Share | Shortage;
  /** Takes it whatever the limits: for what is there already. */
  hold(account: string, amounts: Amounts): Share;
  /** The amount by which an account would exceed its limits. */
  excess(amounts: Amounts): Shortage | undefined;
  /** Whether this process has no room, before anything is given up. */
  isFull(kind: Held): boolean;
  createMap(): ShareMap;
  status(): LedgerStatus;
}

/** Whether something was taken. */
export function isShare(taken: Share | Shortage): taken is Share {
  return "release" in taken;
}

interface Holding {
  readonly account: string;
  amounts: Amounts;
  evict: (() => Amounts) | undefined;
  toOthersOnly: boolean;
}

export function createShares(ledger: Ledger, clock: Clock): Shares {
  const yielding = createYielding();
  const expiry = createExpiry(clock);

  const change = (holding: Holding, amounts: Amounts): void => {
    yielding.leave(holding);
    for (const [kind, amount] of entriesOf(holding.amounts)) ledger.principal(holding.account).give(kind, amount);
    holding.amounts = amounts;
    for (const [kind, amount] of entriesOf(amounts)) ledger.principal(holding.account).add(kind, amount);
    yielding.join(holding);
  };

  const giveUp = (holding: Holding): void => {
    const left = holding.evict?.() ?? {};
    holding.evict = undefined;
    change(holding, left);
  };

  /** The oldest share of the largest account; of this one where no other would remain larger. */
  const oldestOfLargest = (account: string, kind: Held, amount: number): Holding | undefined => {
    let [largest, most] = [account, ledger.principal(account).held(kind) + amount];
    for (const other of yielding.accounts(kind)) {
      const held = ledger.principal(other).held(kind);
      if (held > most) [largest, most] = [other, held];
    }
    return yielding.oldest(kind, largest, largest !== account);
  };

  const makeRoom = (account: string, kind: Held, amount: number): Shortage | undefined => {
    for (;;) {
      const short = ledger.principal(account).shortage(kind, amount);
      if (short === undefined) return undefined;
      const isOwn = short.scope === "principal";
      const holding = isOwn ? yielding.oldest(kind, account, false) : oldestOfLargest(account, kind, amount);
      if (holding === undefined) return short;
      giveUp(holding);
    }
  };

  const makeAllRoom = (account: string, amounts: Amounts): Shortage | undefined => {
    for (const [kind, amount] of entriesOf(amounts)) {
      const short = makeRoom(account, kind, amount);
      if (short !== undefined) return short;
    }
    return undefined;
  };

  const begin = (account: string, amounts: Amounts): Share => {
    const holding: Holding = { account, amounts: {}, evict: undefined, toOthersOnly: false };
    change(holding, amounts);
    return {
      get amounts() {
        return holding.amounts;
      },
      resize(next) {
        const { evict } = holding;
        // It makes no room for itself.
        holding.evict = undefined;
        change(holding, {});
        makeAllRoom(account, next);
        holding.evict = evict;
        change(holding, next);
      },
      yields(evict, to = "all") {
        holding.evict = evict;
        holding.toOthersOnly = to === "others";
        change(holding, holding.amounts);
      },
      release() {
        holding.evict = undefined;
        change(holding, {});
      },
    };
  };

  return {
    take: (account, amounts) => makeAllRoom(account, amounts) ?? begin(account, amounts),
    hold(account, amounts) {
      makeAllRoom(account, amounts);
      return begin(account, amounts);
    },
    excess(amounts) {
      // No principal has this name, so the account is empty.
      const nobody = ledger.principal("");
      const shortages = entriesOf(amounts).map(([kind, amount]) => nobody.shortage(kind, amount));
      return shortages.find((short) => short?.scope === "principal");
    },
    isFull: (kind) => ledger.process.shortage(kind) !== undefined,
    createMap() {
      const map = expiry.newMap<Share>((_, share) => share.release());
      return {
        get: map.get,
        set: (name, share, ttlMs) => map.set(name, share, expiry.after(ttlMs)),
        delete: (name) => map.delete(name)?.release(),
      };
    },
    status: ledger.status,
  };
}

/** What can be given up, by kind and account, the oldest first. */
interface Yielding {
  join(holding: Holding): void;
  leave(holding: Holding): void;
  /** Shares that yield to others only are evicted last, and only for others. */
  oldest(kind: Held, account: string, forOther: boolean): Holding | undefined;
  accounts(kind: Held): Iterable<string>;
}

function createYielding(): Yielding {
  const kinds = new Map<Held, Map<string, Set<Holding>>>();
  const accountsOf = (kind: Held): Map<string, Set<Holding>> => {
    const known = kinds.get(kind) ?? new Map<string, Set<Holding>>();
    kinds.set(kind, known);
    return known;
  };

  return {
    join(holding) {
      if (holding.evict === undefined) return;
      for (const [kind] of entriesOf(holding.amounts)) {
        const accounts = accountsOf(kind);
        accounts.set(holding.account, (accounts.get(holding.account) ?? new Set()).add(holding));
      }
    },
    leave(holding) {
      for (const [kind] of entriesOf(holding.amounts)) {
        const holdings = accountsOf(kind).get(holding.account);
        if (holdings?.delete(holding) === true && holdings.size === 0) accountsOf(kind).delete(holding.account);
      }
    },
    oldest(kind, account, forOther) {
      const holdings = accountsOf(kind).get(account) ?? [];
      for (const holding of holdings) if (!holding.toOthersOnly) return holding;
      const [first] = forOther ? holdings : [];
      return first;
    },
    accounts: (kind) => accountsOf(kind).keys(),
  };
}

function entriesOf(amounts: Amounts): readonly [Held, number][] {
  return Object.entries(amounts) as [Held, number][];
}

/** How much memory a text takes: two bytes a character as soon as one of them needs both. */
export function bytesOf(text: string): number {
  return /[\u0100-\uffff]/.test(text) ? 2 * text.length : text.length;
}
