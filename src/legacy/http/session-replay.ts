import type { Account } from "../../protocol/budget.ts";
import { type Awaitable, promised } from "../../std/awaitable.ts";
import type { Clock } from "../../std/clock.ts";
import type { SessionRules } from "./session-rules.ts";
import { NO_CALL_STREAM, partName, WHOLE_RESPONSES } from "./session-store.ts";

/**
 * What is kept of a session for clients that come back, within its bounds: what
 * belongs to no call, responses that went out whole, and response streams that
 * have ended. Each of them has the bounds for itself.
 */
export class SessionReplay {
  readonly #session: string;
  readonly #rules: SessionRules;
  readonly #share: Account;
  #asides: ReplayBound | undefined;
  /** Kept because a name that is made anew has to be hashed anew. */
  #asideName: string | undefined;
  #wholes: ReplayBound | undefined;
  #streams: ReplayBound<string> | undefined;

  /** What is kept is taken of a share, as far as there is room. */
  constructor(session: string, rules: SessionRules, share: Account) {
    this.#session = session;
    this.#rules = rules;
    this.#share = share;
  }

  /** Keeps a message that belongs to no call. Its position among them. */
  addAside(text: string): Awaitable<number | undefined> {
    this.#asides ??= new ReplayBound(this.#bounds);
    this.#asides.add({ item: undefined, events: 1, chars: text.length, at: this.#rules.clock.now() });
    this.#asideName ??= partName(this.#session, NO_CALL_STREAM);
    return this.#append(this.#asideName, [text], this.#asides);
  }

  /** Keeps a response that went out in one piece. Nothing waits for it: its client has it, in all likelihood. */
  addWhole(id: string, texts: readonly string[], scopes: readonly string[] = []): void {
    this.#wholes ??= new ReplayBound(this.#bounds);
    const events = [wholeMark(id, scopes), ...texts];
    this.#wholes.add({ item: undefined, events: events.length, chars: charsOf(texts), at: LONG_AGO });
    void promised(() =>
      this.#append(partName(this.#session, WHOLE_RESPONSES), events, this.#wholes as ReplayBound),
    ).catch(() => {});
  }

  /** A response stream has ended. The oldest of those that ended are forgotten when they are too many, or too long. */
  addEnded(name: string, events: number, chars: number): void {
    this.#streams ??= new ReplayBound(this.#bounds);
    for (const old of this.#streams.add({ item: name, events, chars, at: this.#rules.clock.now() })) this.#forget(old);
  }

  /** Forgets the response streams that have ended. */
  clear(): void {
    for (const name of this.#streams?.clear() ?? []) this.#forget(name);
    this.release();
  }

  /** Leaves what is kept to other processes. */
  release(): void {
    this.#asides?.clear();
    this.#wholes?.clear();
    this.#streams?.clear();
  }

  get #bounds(): Bounds {
    const { limits, clock } = this.#rules;
    return {
      maxReplayEvents: Math.min(limits.maxReplayEvents, Number.MAX_SAFE_INTEGER),
      maxReplayBytes: limits.maxReplayBytes,
      clock,
      share: this.#share,
    };
  }

  #append(name: string, texts: readonly string[], bound: ReplayBound): Awaitable<number | undefined> {
    const { store, sessionTtlMs: ttlMs } = this.#rules;
    const limits = ttlMs > 0 ? { keep: bound.keep, ttlMs } : { keep: bound.keep };
    return store.streams.append(name, texts, limits);
  }

  #forget(name: string): void {
    const { values, streams } = this.#rules.store;
    void promised(() => values.delete(name)).catch(() => {});
    void promised(() => streams.delete(name)).catch(() => {});
  }
}

/** Stands before the messages of a response that went out whole. Says what it takes to pick it up. */
function wholeMark(id: string, scopes: readonly string[]): string {
  return [`=${id}`, ...scopes].join(" ");
}

/** The scopes that it takes to pick up the response that follows this mark. Undefined for what is not the mark of this response. */
export function scopesInMark(text: string, id: string): readonly string[] | undefined {
  const [mark, ...scopes] = text.split(" ");
  return mark === `=${id}` ? scopes : undefined;
}

export function isWholeMark(text: string): boolean {
  return text.startsWith("=");
}

function charsOf(texts: readonly string[]): number {
  let sum = 0;
  for (const { length } of texts) sum += length;
  return sum;
}

interface Bounds {
  /** Events that are kept in any case, if there is room. */
  readonly maxReplayEvents: number;
  /** Bytes that are kept at most, where a character is one. */
  readonly maxReplayBytes: number;
  readonly clock: Clock;
  /** What is kept is taken of this. */
  readonly share: Pick<Account, "take" | "give">;
}

interface Entry<T> {
  readonly item: T;
  readonly events: number;
  readonly chars: number;
  readonly at: number;
}

/** What is younger than this may be on its way to a client whose connection is just breaking. */
const YOUNG_MS = 10_000;
/** For what need not be kept because it is young. */
const LONG_AGO = Number.NEGATIVE_INFINITY;

/**
 * How much is kept: the last `maxReplayEvents`, and more while they are young, within
 * `maxReplayBytes`. The newest is kept however long it is, if there is room in the share of its owner: for that,
 * older ones of the same session give way.
 */
export class ReplayBound<T = undefined> {
  readonly #bounds: Bounds;
  readonly #entries: Entry<T>[] = [];
  #first = 0;
  #events = 0;
  #chars = 0;
  #dropped = false;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** How many of the newest events to keep. What was added by others counts as long as there is room. */
  get keep(): number {
    return this.#dropped ? this.#events : Math.max(this.#events, this.#bounds.maxReplayEvents);
  }

  /** Returns what has to go for it. */
  add(entry: Entry<T>): readonly T[] {
    this.#entries.push(entry);
    this.#events += entry.events;
    this.#chars += entry.chars;
    const isShort = this.#bounds.share.take("heldBytes", entry.chars) !== undefined;
    return isShort || this.#isFull() ? this.#trim(isShort ? entry.chars : 0) : nothing;
  }

  /** Forgets everything, and returns it. */
  clear(): readonly T[] {
    const items = this.#entries.slice(this.#first).map(({ item }) => item);
    this.#bounds.share.give("heldBytes", this.#chars);
    this.#events = 0;
    this.#chars = 0;
    this.#entries.length = 0;
    this.#first = 0;
    return items;
  }

  #isFull(): boolean {
    const { maxReplayEvents, maxReplayBytes, clock } = this.#bounds;
    if (this.#entries.length - this.#first <= 1) return false;
    if (this.#chars > maxReplayBytes) return true;
    return this.#events > maxReplayEvents && clock.now() - (this.#entries[this.#first]?.at ?? 0) > YOUNG_MS;
  }

  /** `untaken` bytes of the newest entry are not in the share yet. */
  #trim(untaken: number): readonly T[] {
    const { share } = this.#bounds;
    this.#dropped = true;
    const items: T[] = [];
    let isShort = untaken > 0;
    while (isShort || this.#isFull()) {
      const entry = this.#entries[this.#first++] as Entry<T>;
      const isNewest = this.#first === this.#entries.length;
      this.#events -= entry.events;
      this.#chars -= entry.chars;
      items.push(entry.item);
      if (!isNewest || !isShort) share.give("heldBytes", entry.chars);
      if (isShort) isShort = !isNewest && share.take("heldBytes", untaken) !== undefined;
    }
    // Moving the rest to the front now and then keeps the cost of an event constant.
    if (this.#first >= 1_024 && this.#first * 2 >= this.#entries.length) {
      this.#entries.splice(0, this.#first);
      this.#first = 0;
    }
    return items;
  }
}

const nothing: readonly never[] = [];
