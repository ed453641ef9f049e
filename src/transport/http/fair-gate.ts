import type { Account, Shortage } from "../../protocol/budget.ts";
import type { LazyAbort } from "../../std/lazy-abort.ts";
import type { Caller, CallGate } from "../caller.ts";

/**
 * Runs calls within the shares of their callers, and queues the others. A caller that has used up its share waits only
 * for itself: free slots are given to principals in turn, and to the connections of each in turn.
 */
export interface FairGate {
  caller(share: Account): HttpCaller;
}

/** A queued call, which may be cancelled. */
interface Waiter {
  readonly abort: Pick<LazyAbort, "onAbort">;
}

/** Whose share the calls of one connection, or session, are taken of. */
export class HttpCaller implements Caller, CallGate {
  readonly share: Account;
  readonly #lines: Lines;
  /** Made once, for calls come and go all the time, and only then: a connection may have none. */
  #finish: (() => void) | undefined;

  constructor(share: Account, lines: Lines) {
    this.share = share;
    this.#lines = lines;
  }

  get gate(): CallGate {
    return this;
  }

  run(work: () => Promise<unknown>, waiter: Waiter): Shortage | undefined {
    const { share } = this;
    if (this.#lines.hasRoom(share)) {
      const finish = this.#finisher();
      work().then(finish, finish);
      return undefined;
    }
    const short = share.take("queuedCalls");
    if (short === undefined) this.#wait(work, waiter);
    return short;
  }

  async leave<R>(wait: Promise<R>): Promise<R> {
    this.#lines.done(this.share);
    try {
      return await wait;
    } finally {
      this.#lines.start(this.share);
    }
  }

  #finisher(): () => void {
    this.#finish ??= () => this.#lines.done(this.share);
    return this.#finish;
  }

  /** Other work makes the room, but a promise runs `work` in the async context of its own caller. */
  #wait(work: () => Promise<unknown>, { abort }: Waiter): void {
    const waiting = new Waiting();
    const begin = (): Promise<unknown> => {
      this.#lines.begun();
      return work();
    };
    const finish = this.#finisher();
    waiting.room.then(begin).then(finish, finish);
    this.#lines.add(waiting, this.share);
    waiting.unlisten = abort.onAbort(() => this.#lines.drop(waiting, this.share));
  }
}

/** `isOff` where a place could not be given back: then everything runs at once. */
export function createFairGate(isOff = false): FairGate {
  const lines = new Lines(isOff);
  return { caller: (share) => new HttpCaller(share, lines) };
}

class Waiting {
  /** Resolves when it is called. */
  readonly room: Promise<void>;
  call: () => void = () => {};
  unlisten: (() => void) | undefined;

  constructor() {
    this.room = new Promise((resolve) => {
      this.call = resolve;
    });
  }
}

/** The queued calls of one principal, by connection, in round-robin order. */
type Line = Map<Account, Set<Waiting>>;

class Lines {
  readonly #isOff: boolean;
  readonly #waiting = new Map<string, Line>();
  /** Of those that run, the ones that were called and begin in this very turn. */
  #called = 0;

  constructor(isOff: boolean) {
    this.#isOff = isOff;
  }

  /** Takes a place for a call that may run at once. */
  hasRoom(share: Account): boolean {
    if (this.#isOff) return true;
    const isBehind =
      this.#called > 0 || (this.#waiting.size > 0 && this.#waiting.get(share.owner)?.has(share) === true);
    return !isBehind && share.tryTake("runningCalls");
  }

  add(waiting: Waiting, share: Account): void {
    const line = this.#waiting.get(share.owner) ?? new Map<Account, Set<Waiting>>();
    const calls = line.get(share) ?? new Set();
    this.#waiting.set(share.owner, line);
    line.set(share, calls);
    calls.add(waiting);
    this.#advance();
  }

  drop(waiting: Waiting, share: Account): void {
    const line = this.#waiting.get(share.owner);
    const calls = line?.get(share);
    if (line === undefined || calls?.delete(waiting) !== true) return;
    share.give("queuedCalls");
    waiting.unlisten?.();
    if (calls.size === 0) line.delete(share);
    if (line.size === 0) this.#waiting.delete(share.owner);
  }

  begun(): void {
    this.#called--;
  }

  start(share: Account): void {
    if (!this.#isOff) share.add("runningCalls");
  }

  done(share: Account): void {
    if (this.#isOff) return;
    share.give("runningCalls");
    if (this.#waiting.size > 0) this.#advance();
  }

  /** Calls as many as there is room for, one of each principal at a time. */
  #advance(): void {
    let hasCalled = true;
    while (hasCalled) {
      hasCalled = false;
      for (const [owner, line] of [...this.#waiting]) {
        const called = this.#callOne(owner, line);
        if (called === "full") return;
        hasCalled ||= called === "called";
      }
    }
  }

  #callOne(owner: string, line: Line): "called" | "none" | "full" {
    for (const [share, calls] of line) {
      const short = share.shortage("runningCalls");
      if (short?.scope === "process") return "full";
      if (short?.scope === "principal") return "none";
      if (short === undefined) {
        this.#call(owner, line, share, calls);
        return "called";
      }
    }
    return "none";
  }

  #call(owner: string, line: Line, share: Account, calls: Set<Waiting>): void {
    const [next] = calls;
    if (next === undefined) return;
    // Whoever has its turn now is the last of all in the next round.
    line.delete(share);
    line.set(share, calls);
    this.#waiting.delete(owner);
    this.#waiting.set(owner, line);
    this.drop(next, share);
    share.add("runningCalls");
    this.#called++;
    next.call();
  }
}
