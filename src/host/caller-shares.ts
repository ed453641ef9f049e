import { readTarget } from "../connect/target.ts";
import { accountOf } from "../protocol/account.ts";
import { createLedger, type Shortage, toLimitFailure } from "../protocol/budget.ts";
import { McpError, toError } from "../protocol/errors.ts";
import { type CallOf, onAbort } from "../protocol/service.ts";
import type { Clock } from "../std/clock.ts";
import { createFairGate, type HttpCaller } from "../transport/http/fair-gate.ts";
import { createLimitReport } from "../transport/http/limit-warning.ts";
import { checkHostBudgets, type HostBudgets, programBudgets, serverBudgets } from "./host-budgets.ts";
import { type AskAboutTask, createRemainders, type Remainders } from "./remainders.ts";
import type { ServerSlot } from "./server-slot.ts";

/** What the callers of a served host take of one of its servers. */
export interface ServerShares {
  /**
   * Sends a call now, or when its caller has its turn. Rejects with `limit-reached`, and never sends it, when too many of the
   * caller wait.
   */
  inTurn<R>(call: CallOf, send: () => Promise<R>): Promise<R>;
  /** Gives up the turn of a call that was sent while it only waits for something else. */
  whileWaiting<R>(call: CallOf, wait: Promise<R>): Promise<R>;
  readonly remainders: Remainders;
}

/**
 * The budgets of the callers of a served host.
 *
 * All callers share one connection to each server, and to the server they are one caller. So what that one may have there
 * is divided here, server by server: calls have their turns, and what they leave behind is counted.
 */
export interface CallerShares {
  of(slot: ServerSlot): ServerShares;
}

/** A caller was refused because it has used up its share of a server, or all callers together have. */
export interface ServerLimit {
  readonly server: string;
  /** The option, such as `maxTasks`. */
  readonly limit: string;
  readonly max: number;
  readonly scope: "connection" | "principal" | "process";
  /** Whose share it is: `principal:` or `address:` with a name, or `local`. Empty when it is that of all. */
  readonly caller: string;
}

interface CallerSharesOptions {
  readonly budgets: HostBudgets | undefined;
  readonly clock: Clock;
  readonly askAboutTask: AskAboutTask;
  /** Hears of refusals, once a second of each kind for the same caller. */
  onLimit(reached: ServerLimit): void;
}

/** Throws `invalid-definition` for a budget that is none. */
export function createCallerShares({ budgets = {}, clock, askAboutTask, onLimit }: CallerSharesOptions): CallerShares {
  checkHostBudgets(budgets);
  createLedger(serverBudgets, budgets, "openHost");
  const known = new WeakMap<ServerSlot, ServerShares>();

  const create = ({ name, spec }: ServerSlot): ServerShares => {
    const report = createLimitReport(clock, ({ limit, max, scope, owner }) =>
      onLimit({ server: name, limit, max, scope, caller: owner }),
    );
    const defaults = readTarget(spec.target).kind === "command" ? programBudgets : serverBudgets;
    const ledger = createLedger(defaults, budgets, "openHost", report);
    const callerOf = createCallers((account) => gate.caller(ledger.connection(account)));
    const gate = createFairGate();

    return {
      inTurn(call, send) {
        const turn = new Turn(call, send);
        const short = callerOf(accountOf(call)).run(turn.begin, turn);
        return short === undefined ? turn.sent() : Promise.reject(limitReached(short, name));
      },
      whileWaiting: (call, wait) => callerOf(accountOf(call)).leave(wait),
      remainders: createRemainders({
        ledger,
        clock,
        askAboutTask,
        refuse(short) {
          report(short);
          return limitReached(short, name);
        },
      }),
    };
  };

  return {
    of(given) {
      const slot = given.origin ?? given;
      const found = known.get(slot);
      if (found !== undefined) return found;
      const created = create(slot);
      known.set(slot, created);
      return created;
    },
  };
}

/** So many callers are remembered: each is found again by its account. */
const MAX_CALLERS = 1_024;

function createCallers(create: (account: string) => HttpCaller): (account: string) => HttpCaller {
  const callers = new Map<string, HttpCaller>();
  return (account) => {
    const found = callers.get(account);
    if (found !== undefined) return found;
    if (callers.size >= MAX_CALLERS) callers.clear();
    const created = create(account);
    callers.set(account, created);
    return created;
  };
}

/** A call that is sent now or later. A class, for every call has one. */
class Turn<R> {
  readonly #call: CallOf;
  readonly #send: () => Promise<R>;
  #sent: Promise<R> | undefined;
  #begun: ((sent: Promise<R>) => void) | undefined;

  constructor(call: CallOf, send: () => Promise<R>) {
    this.#call = call;
    this.#send = send;
  }

  /** Who may give up waiting. */
  get abort(): this {
    return this;
  }

  onAbort(listener: () => void): () => void {
    return onAbort(this.#call, listener);
  }

  readonly begin = (): Promise<R> => {
    this.#sent = this.#send();
    this.#begun?.(this.#sent);
    return this.#sent;
  };

  /** What comes of it, also when it has yet to begin. */
  sent(): Promise<R> {
    if (this.#sent !== undefined) return this.#sent;
    return new Promise((resolve, reject) => {
      this.#begun = resolve;
      onAbort(this.#call, () => reject(new McpError("cancelled", "the call was cancelled before it had its turn")));
    });
  }
}

/** `limit-reached`, with what, how much and whose. */
function limitReached(short: Shortage, server: string): McpError {
  const { limit, max, scope } = short;
  const message = `budgets.${scope}.${limit} of the host for server ${server} is ${max}, and used up; retry later`;
  return toError({ ...toLimitFailure(short), message });
}
