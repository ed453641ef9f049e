import type { Clock } from "../std/clock.ts";
import { createExpiry } from "../store/expiring-map.ts";
import type { Held, Ledger, LedgerStatus, Shortage } from "./budget.ts";

/** How much of what something holds. */
export type Amounts = { readonly [H in Held]?: number };

/** Something that is held for an account. */
export interface Share {
  readonly amounts: Amounts;
  /** It holds this much from now on, whatever the limits. What can be given up makes room for it first. */
  resize(amounts: Amounts): void;
  /**
   * From now on it can be given up when room is needed: `giveWay` does so, and says what is still held. One that yields to
   * others only goes last, and is not given up for its own account.
   */
  yields(giveWay: () => Amounts, to?: "all" | "others"): void;
  /** It holds nothing any more. Idempotent. */
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
 * What a server, or a host, holds for each of its callers, within budgets.
 *
 * Where an account is at its limit, the oldest of its own that can be given up is. Where the process is, it is the oldest of
 * the account that holds most, unless the one that needs room would then hold as much: then its own give way, or it is refused.
 */
export interface Shares {
  /** Takes all of it or nothing. */
  take(account: string, amounts: Amounts): Share | Shortage;
  /** Takes it whatever the limits: for what is there already. */
  hold(account: string, amounts: Amounts): Share;
  /** What an account would be over that held this much, wherever that is. */
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
  giveWay: (() => Amounts) | undefined;
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
    const left = holding.giveWay?.() ?? {};
    holding.giveWay = undefined;
    change(holding, left);
  };

  /** The oldest of the account that holds most; of this one where no other would still hold more than it. */
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
    const holding: Holding = { account, amounts: {}, giveWay: undefined, toOthersOnly: false };
    change(holding, amounts);
    return {
      get amounts() {
        return holding.amounts;
      },
      resize(next) {
        const { giveWay } = holding;
        // It makes no room for itself.
        holding.giveWay = undefined;
        change(holding, {});
        makeAllRoom(account, next);
        holding.giveWay = giveWay;
        change(holding, next);
      },
      yields(giveWay, to = "all") {
        holding.giveWay = giveWay;
        holding.toOthersOnly = to === "others";
        change(holding, holding.amounts);
      },
      release() {
        holding.giveWay = undefined;
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
      // Nobody is called so, and so it holds nothing.
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
  /** Those that yield to others only come last, and only for others. */
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
      if (holding.giveWay === undefined) return;
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
