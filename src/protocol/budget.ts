import {
  type Budget,
  type BudgetScope,
  type Held,
  heldKinds,
  limitOf,
  limitsOf,
  type ScopeBudgets,
} from "./budget-limits.ts";
import { type LimitReached, RETRY_AFTER_MS } from "./limit-error.ts";

export {
  type Budget,
  type BudgetScope,
  type Budgets,
  type ChannelBudgets,
  type ConnectionBudget,
  type EndpointBudget,
  type Held,
  heldKinds,
  type ScopeBudgets,
} from "./budget-limits.ts";
export { toLimitError, toLimitFailure } from "./limit-error.ts";

/** Why something is not taken in. */
export interface Shortage extends LimitReached {
  readonly limit: keyof Budget;
  readonly scope: BudgetScope;
  /** Whose share is used up: the principal or address; empty for the process. Not for clients to see. */
  readonly owner: string;
}

type Counts = { [H in Held]: number };

function counts(of: (kind: Held, place: number) => number): Counts {
  return Object.fromEntries(heldKinds.map((kind, place) => [kind, of(kind, place)])) as Counts;
}

/** Where a kind is counted: numbers in a row are found sooner than members of an object, and this is done for every call. */
const placeOf: Counts = counts((_kind, place) => place);

/**
 * The usage of one connection, one principal or the process. What is taken here is taken from all enclosing scopes,
 * too.
 */
export interface Account {
  readonly scope: BudgetScope;
  /** The owner: the principal or address; empty for the process. */
  readonly owner: string;
  /** Takes all of it or nothing. Undefined when it was taken, else what is short. */
  take(kind: Held, amount?: number): Shortage | undefined;
  /** Like `take`, for callers that can wait: a shortage is not reported. */
  tryTake(kind: Held, amount?: number): boolean;
  /** Takes it whatever the limit: for what is there already and has to be counted. */
  add(kind: Held, amount?: number): void;
  /** Returns an amount that was taken or added. */
  give(kind: Held, amount?: number): void;
  /** Returns an open request and the bytes that were reserved for it. */
  giveRequest(bytes: number): void;
  /** What `take` would answer. */
  shortage(kind: Held, amount?: number): Shortage | undefined;
  held(kind: Held): number;
}

/** The accounts of principals. An account without usage may be dropped. */
interface Principals {
  /** Called when an amount was refused. */
  readonly short: ((shortage: Shortage) => void) | undefined;
  find(name: string): CountingAccount;
  /** Adds an account again that was dropped and is still in use. */
  revive(account: CountingAccount): void;
}

/** What all accounts of a scope have in common. There may be very many accounts. */
interface ScopeRules {
  readonly scope: BudgetScope;
  readonly max: readonly number[];
  /** A zero for each kind that is counted. */
  readonly nothing: readonly number[];
  readonly principals: Principals;
}

/** For a connection, only kinds with a limit are counted, as the others are never read. */
function scopeRules(scope: BudgetScope, max: readonly number[], principals: Principals): ScopeRules {
  const counted = scope === "connection" ? max.findLastIndex(Number.isFinite) + 1 : max.length;
  return { scope, max, nothing: max.slice(0, counted).map(() => 0), principals };
}

class CountingAccount implements Account {
  readonly owner: string;
  /** False while it is forgotten. */
  isKnown = true;
  readonly #rules: ScopeRules;
  readonly #held: number[];
  #around: CountingAccount | undefined;

  constructor(owner: string, rules: ScopeRules, around?: CountingAccount) {
    this.owner = owner;
    this.#rules = rules;
    this.#held = rules.nothing.slice();
    this.#around = around;
  }

  get scope(): BudgetScope {
    return this.#rules.scope;
  }

  take(kind: Held, amount = 1): Shortage | undefined {
    if (this.tryTake(kind, amount)) return undefined;
    const short = this.shortage(kind, amount);
    if (short !== undefined) this.#rules.principals.short?.(short);
    return short;
  }

  tryTake(kind: Held, amount = 1): boolean {
    if (!this.isKnown) this.#rules.principals.revive(this);
    const at = placeOf[kind];
    for (let account: CountingAccount | undefined = this; account !== undefined; account = account.#next()) {
      if (at >= account.#held.length) continue;
      const sum = (account.#held[at] as number) + amount;
      if (sum > (account.#rules.max[at] as number)) {
        this.#add(at, -amount, account);
        return false;
      }
      account.#held[at] = sum;
    }
    return true;
  }

  shortage(kind: Held, amount = 1): Shortage | undefined {
    const at = placeOf[kind];
    for (let account: CountingAccount | undefined = this; account !== undefined; account = account.#next()) {
      const max = account.#rules.max[at] as number;
      if (max === Number.POSITIVE_INFINITY || (account.#held[at] as number) + amount <= max) continue;
      return { limit: limitOf[kind], max, scope: account.scope, owner: account.owner, retryAfterMs: RETRY_AFTER_MS };
    }
    return undefined;
  }

  add(kind: Held, amount = 1): void {
    if (!this.isKnown) this.#rules.principals.revive(this);
    this.#add(placeOf[kind], amount, undefined);
  }

  give(kind: Held, amount = 1): void {
    this.add(kind, -amount);
  }

  giveRequest(bytes: number): void {
    this.#add(placeOf.heldBytes, -bytes, undefined);
    this.#add(placeOf.openRequests, -1, undefined);
  }

  held(kind: Held): number {
    return this.#held[placeOf[kind]] ?? 0;
  }

  get isEmpty(): boolean {
    return this.#held.every((held) => held === 0);
  }

  /** To the accounts up to another one, or to all. */
  #add(at: number, amount: number, until: CountingAccount | undefined): void {
    for (
      let account: CountingAccount | undefined = this;
      account !== until && account !== undefined;
      account = account.#next()
    )
      if (at < account.#held.length) (account.#held[at] as number) += amount;
  }

  /** The account around this one. */
  #next(): CountingAccount | undefined {
    const around = this.#around;
    return around === undefined || around.isKnown ? around : this.#find();
  }

  #find(): CountingAccount | undefined {
    this.#around = this.#rules.principals.find(this.owner);
    return this.#around;
  }
}

/** The accounts of one endpoint: of the process, of principals, and of their connections. */
export interface Ledger {
  readonly process: Account;
  /**
   * The account of a principal, or of an address for anonymous callers. It may be dropped while it has no usage: take
   * from it at once, and look it up again after everything was returned.
   */
  principal(name: string): Account;
  /** An account of its own for one connection of a principal; what is said of theirs goes for it, too. */
  connection(principal: string): Account;
  /** The limit of one scope; `Infinity` where it is disabled. */
  max(scope: BudgetScope, kind: Held): number;
  /** The usage of the process by kind, and the number of principals with usage. */
  status(): LedgerStatus;
}

/** The usage of an endpoint. */
export interface LedgerStatus {
  readonly held: Readonly<Record<Held, number>>;
  /** Of the process. */
  readonly limits: Readonly<Record<Held, number>>;
  /** The number of principals, or addresses, with usage. */
  readonly principals: number;
}

/** Maximum number of known principals before those without usage are dropped. */
const MAX_IDLE_ACCOUNTS = 1_024;

/** `onRefused` is called with each amount that could not be taken. Throws `invalid-definition` for an invalid limit. */
export function createLedger(
  defaults: ScopeBudgets,
  given: ScopeBudgets | undefined,
  where: string,
  onRefused?: (shortage: Shortage) => void,
): Ledger {
  const max = {
    connection: limitsOf("connection", defaults, given, where),
    principal: limitsOf("principal", defaults, given, where),
    process: limitsOf("process", defaults, given, where),
  };
  const known = new Map<string, CountingAccount>();
  let many = MAX_IDLE_ACCOUNTS;

  const forget = (): void => {
    for (const [name, account] of known) {
      if (!account.isEmpty) continue;
      account.isKnown = false;
      known.delete(name);
    }
    many = Math.max(MAX_IDLE_ACCOUNTS, 2 * known.size);
  };

  const principals: Principals = {
    short: onRefused,
    find(name) {
      const account = known.get(name);
      if (account !== undefined) return account;
      if (known.size >= many) forget();
      const added = new CountingAccount(name, ofPrincipals, process);
      known.set(name, added);
      return added;
    },
    revive(account) {
      if (known.has(account.owner)) return;
      account.isKnown = true;
      known.set(account.owner, account);
    },
  };

  const ofPrincipals = scopeRules("principal", max.principal, principals);
  const ofConnections = scopeRules("connection", max.connection, principals);
  const process = new CountingAccount("", scopeRules("process", max.process, principals));

  return {
    process,
    principal: principals.find,
    connection(name) {
      const around = principals.find(name);
      // Each connection has its own copy of the name, so the copy in the table is used.
      return new CountingAccount(around.owner, ofConnections, around);
    },
    max: (scope, kind) => max[scope][placeOf[kind]] as number,
    status: () => ({
      held: counts((kind) => process.held(kind)),
      limits: counts((kind) => max.process[placeOf[kind]] as number),
      principals: [...known.values()].filter((account) => !account.isEmpty).length,
    }),
  };
}
