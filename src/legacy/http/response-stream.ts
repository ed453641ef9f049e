import type { Id, Parsed } from "../../jsonrpc/message.ts";
import type { Account } from "../../protocol/budget.ts";
import { onlyReads } from "../../protocol/methods.ts";
import { type Awaitable, chain, promised } from "../../std/awaitable.ts";
import type { Clock } from "../../std/clock.ts";
import { isUnavailable } from "../../store/store.ts";
import type { EventSink } from "../../transport/http/http-message.ts";
import { loneId, messageFrame, primeFrame, retryFrame, wholeId } from "./event-frames.ts";
import { type AnswerStream, itemsOf } from "./post-response.ts";
import type { SessionReplay } from "./session-replay.ts";
import { END, POLL_INTERVAL_MS, type SessionRules } from "./session-rules.ts";
import { partName, randomName } from "./session-store.ts";

/** The writer of a stream, and the requests that it answers. */
export interface StreamHead {
  readonly node: string;
  readonly ids: readonly Id[];
  /** Those of them that do no harm when they are sent again. */
  readonly harmless?: readonly Id[];
  /** The permissions of the sender, which a client that resumes the stream needs, too. */
  readonly scopes?: readonly string[] | undefined;
}

interface ResponseStreamOptions {
  readonly session: string;
  /** What was posted, with the requests that it is the answer to. */
  readonly posted: Parsed;
  readonly primes: boolean;
  /** What the sender may. */
  readonly scopes: readonly string[] | undefined;
  readonly rules: SessionRules;
  readonly replay: SessionReplay;
  /** What is kept of it while it is written is taken of this. */
  readonly share: Account;
  /** Called with the id of the stream when clients may resume it. */
  begun(id: string, stream: ResponseStream): void;
  /** Called when all events are saved, and the stream has ended. */
  over(id: string): void;
}

/** How long a stream is retained after its end: clients reconnect within seconds. */
export const RETENTION_MS = 300_000;
const DAY_MS = 86_400_000;

/** Events that a client may miss before who writes more has to wait. */
const MAX_MISSED = 128;
/** How long that is. */
const MAX_WAIT_MS = 30_000;

interface Item {
  /** What to write; or else when the client should come back. */
  readonly text?: string;
  readonly retryMs?: number;
  done?(slow: Promise<void> | undefined): void;
}

/**
 * The events of one POST, saved in the store before they are written to a socket.
 *
 * A client that reconnects, to any process, finds the events so far and follows the rest. A store that is slow or
 * unavailable delays the writer.
 */
class ResponseStream implements AnswerStream {
  readonly #options: ResponseStreamOptions;
  readonly #queue: Item[] = [];
  readonly #sizes: number[] = [];
  #id = "";
  #chars = 0;
  /** Bytes that are counted for it. */
  #held = 0;
  #position = 0;
  /** How far the client has come, as far as this process knows. */
  #seen = 0;
  #sink: EventSink | undefined;
  #pumping = false;
  #begun = false;
  #ended = false;
  /** False once the store holds something else: then nothing can be picked up any more. */
  #kept = true;
  /** True once another process has been asked for the events. */
  #followed = false;
  #waking: Promise<void> | undefined;
  #wakeAgain = false;
  #waiting: Wait | undefined;

  constructor(options: ResponseStreamOptions) {
    this.#options = options;
  }

  attach(sink: EventSink): void {
    this.#sink = sink;
    this.#release();
    this.#pump();
  }

  detach(sink: EventSink): void {
    if (this.#sink === sink) this.#sink = undefined;
  }

  write(text: string): Promise<void> | undefined {
    if (this.#ended) return undefined;
    let resolve: (() => void) | undefined;
    let isDone = false;
    let slow: Promise<void> | undefined;
    this.#put({
      text,
      done(waits) {
        isDone = true;
        slow = waits;
        if (waits === undefined) resolve?.();
        else if (resolve !== undefined) void waits.then(resolve);
      },
    });
    if (isDone) return slow;
    return new Promise((settle) => {
      resolve = settle;
    });
  }

  closeStream(retryMs: number = this.#options.rules.retryMs): void {
    if (this.#options.primes && !this.#ended) this.#put({ retryMs });
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#put({ text: END });
  }

  /** Somebody else reads it now. */
  taken(): void {
    this.#followed = true;
    this.#letGo();
    this.#release();
    this.#wake();
  }

  get #name(): string {
    return partName(this.#options.session, this.#id);
  }

  #idOf(position: number): string {
    return `${this.#id}-${position}`;
  }

  #put(item: Item): void {
    this.#queue.push(item);
    this.#pump();
  }

  /** Does what there is to do, as far as the store answers at once; the rest when it has answered. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    while (!this.#begun || this.#queue.length > 0) {
      const step = this.#step();
      if (step instanceof Promise) {
        void step.then(() => {
          this.#pumping = false;
          this.#pump();
        });
        return;
      }
    }
    this.#pumping = false;
  }

  #step(): Awaitable<void> {
    if (!this.#begun) return this.#begin();
    const items = this.#takeTexts();
    if (items.length > 0) return this.#writeAll(items);
    this.#breakOff(this.#queue.shift()?.retryMs ?? 0);
  }

  /** Nobody hears of a stream before it says who writes it. */
  #begin(): Awaitable<void> {
    const { posted, primes, scopes, rules } = this.#options;
    this.#id = randomName();
    this.#options.begun(this.#id, this);
    const head = JSON.stringify({ ...headOf(posted, rules.node.id), scopes });
    const put = (): Awaitable<boolean> =>
      chain(rules.store.values.put(this.#name, head, { ttlMs: this.#ttlMs() }), () => true);
    return chain(this.#retry(put), (kept) => {
      this.#kept = kept;
      this.#begun = true;
      if (primes && kept) this.#sink?.write(primeFrame(this.#idOf(0), rules.retryMs));
    });
  }

  #takeTexts(): readonly Item[] {
    const end = this.#queue.findIndex(({ text }) => text === undefined);
    return this.#queue.splice(0, end < 0 ? this.#queue.length : end);
  }

  #writeAll(items: readonly Item[]): Awaitable<void> {
    const texts = items.map(({ text = END }) => text);
    const ends = texts.at(-1) === END;
    const kept = this.#kept ? this.#append(texts, ends ? RETENTION_MS : this.#ttlMs()) : false;
    return chain(kept, (isKept) => {
      this.#kept = isKept;
      for (const item of items) this.#deliver(item);
      if (this.#followed) this.#wake();
      if (ends) this.#finish();
    });
  }

  #deliver({ text = END, done }: Item): void {
    this.#position++;
    const slow = text === END ? undefined : this.#show(text);
    done?.(slow ?? this.#waitForClient());
  }

  #show(text: string): Promise<void> | undefined {
    if (this.#sink === undefined) return undefined;
    this.#seen = this.#position;
    return this.#sink.write(messageFrame(this.#kept ? this.#idOf(this.#position) : undefined, text));
  }

  #finish(): void {
    const { replay, over } = this.#options;
    this.#letGo();
    this.#release();
    this.#hold(0);
    if (this.#kept) replay.addEnded(this.#name, this.#sizes.length, this.#chars);
    over(this.#id);
  }

  /** False when it is not in the store, or not where it should be. */
  #append(texts: readonly string[], ttlMs: number): Awaitable<boolean> {
    const { streams } = this.#options.rules.store;
    const keep = this.#keep(texts);
    const append = (): Awaitable<boolean> =>
      chain(
        streams.append(this.#name, texts, { ttlMs, keep }),
        (position) => position === this.#position + texts.length,
      );
    return this.#retry(async () => (await this.#isThere(texts)) || append(), append);
  }

  /** An append that failed may have been carried out. */
  async #isThere(texts: readonly string[]): Promise<boolean> {
    const { events } = await this.#options.rules.store.streams.read(this.#name, this.#position, texts.length);
    return events.length === texts.length && events.every(({ text }, index) => text === texts[index]);
  }

  /** Tries until the store is there; `first` is what to try first. */
  #retry(again: () => Awaitable<boolean>, first = again): Awaitable<boolean> {
    try {
      const done = first();
      return done instanceof Promise ? done.catch((error) => this.#retryLater(error, again)) : done;
    } catch (error) {
      return this.#retryLater(error, again);
    }
  }

  async #retryLater(error: unknown, again: () => Awaitable<boolean>): Promise<boolean> {
    const { node, clock } = this.#options.rules;
    if (!isUnavailable(error) || node.left) return false;
    await new Promise<void>((resolve) => clock.after(POLL_INTERVAL_MS, resolve));
    return this.#retry(again);
  }

  /** How many of the newest events are worth their room. */
  #keep(texts: readonly string[]): number {
    const { maxReplayBytes } = this.#options.rules.limits;
    for (const { length } of texts) {
      this.#sizes.push(length);
      this.#chars += length;
    }
    // The newest is kept however long it is: the end of a stream does not take its place.
    const newest = texts.length + (texts.at(-1) === END ? 1 : 0);
    while (this.#sizes.length > newest && this.#chars > maxReplayBytes) {
      this.#chars -= this.#sizes.shift() ?? 0;
    }
    while (!this.#hold(this.#chars) && this.#sizes.length > newest) this.#chars -= this.#sizes.shift() ?? 0;
    return this.#sizes.length;
  }

  /** Counts so many bytes for it, instead of those before. False when there is no room for them. */
  #hold(bytes: number): boolean {
    const { share } = this.#options;
    const more = bytes - this.#held;
    if (more > 0 && share.take("heldBytes", more) !== undefined) return false;
    if (more < 0) share.give("heldBytes", -more);
    this.#held = bytes;
    return true;
  }

  #ttlMs(): number {
    return this.#options.rules.sessionTtlMs || DAY_MS;
  }

  #breakOff(retryMs: number): void {
    this.#sink?.write(retryFrame(retryMs));
    this.#letGo();
  }

  #letGo(): void {
    this.#sink?.end();
    this.#sink = undefined;
  }

  /**
   * Who writes much to a client that is away waits for it, for a while. Where a
   * writer ends with its request, it cannot.
   */
  #waitForClient(): Promise<void> | undefined {
    const { clock } = this.#options.rules;
    if (this.#sink !== undefined || this.#followed || this.#position - this.#seen <= MAX_MISSED) return undefined;
    if (clock.requestBound === true) return undefined;
    this.#waiting ??= createWait(clock, () => {
      this.#waiting = undefined;
    });
    return this.#waiting.back;
  }

  #release(): void {
    this.#waiting?.release();
    this.#waiting = undefined;
  }

  /** Notifies readers of new events. One message covers all events that were added while it was in transit. */
  #wake(): void {
    this.#wakeAgain = this.#waking !== undefined;
    this.#waking ??= promised(() => this.#options.rules.store.topics.publish(this.#name, ""))
      .catch(() => {})
      .then(() => {
        this.#waking = undefined;
        if (this.#wakeAgain) this.#wake();
      });
  }
}

function headOf(posted: Parsed, node: string): StreamHead {
  const requests = itemsOf(posted).filter((item) => item.kind === "request");
  const ids = requests.map((request) => request.id);
  return { node, ids, harmless: requests.filter(({ method }) => onlyReads(method)).map((request) => request.id) };
}

/** The time that a writer gives a client to come back. */
interface Wait {
  readonly back: Promise<void>;
  release(): void;
}

/** `over` hears that the time is up. */
function createWait(clock: Clock, over: () => void): Wait {
  let release = (): void => {};
  const back = new Promise<void>((resolve) => {
    const stop = clock.after(MAX_WAIT_MS, () => {
      over();
      resolve();
    });
    release = () => {
      stop();
      resolve();
    };
  });
  return { back, release };
}

/** The response streams of one session that this process writes. */
export class ResponseStreams {
  readonly #session: string;
  readonly #rules: SessionRules;
  readonly #replay: SessionReplay;
  readonly #share: Account;
  #streams: Map<string, ResponseStream> | undefined;
  #check: (() => void) | undefined;

  constructor(session: string, rules: SessionRules, replay: SessionReplay, share: Account) {
    this.#session = session;
    this.#rules = rules;
    this.#replay = replay;
    this.#share = share;
  }

  get size(): number {
    return this.#streams?.size ?? 0;
  }

  /** A stream for the answers to what was posted. */
  create(posted: Parsed, primes: boolean, scopes?: readonly string[]): AnswerStream {
    return new ResponseStream({
      session: this.#session,
      posted,
      primes,
      scopes,
      rules: this.#rules,
      replay: this.#replay,
      share: this.#share,
      begun: (id, stream) => {
        this.#streams ??= new Map();
        this.#streams.set(id, stream);
      },
      over: (id) => {
        this.#streams?.delete(id);
        this.#check?.();
      },
    });
  }

  /**
   * The text of a response with these messages and no others. Where it breaks off, the client can come back for the rest.
   * Nothing is kept of a single message for a client that knows no id before it: who has that has it all.
   */
  whole(texts: readonly string[], primes: boolean, scopes?: readonly string[]): string {
    const { node, retryMs } = this.#rules;
    if (!primes && texts.length === 1) return messageFrame(loneId(node.id), texts[0] as string);
    const id = randomName();
    this.#replay.addWhole(id, texts, scopes);
    const prime = primes ? primeFrame(wholeId(id, 0), retryMs) : "";
    return prime + texts.map((text, index) => messageFrame(wholeId(id, index + 1), text)).join("");
  }

  /** Somebody reads a stream now. */
  taken(stream: string): void {
    this.#streams?.get(stream)?.taken();
  }

  /** Something else was answered. */
  answered(): void {
    this.#check?.();
  }

  /** Resolves when all is kept and written, and nothing else waits for an answer; or when that takes too long. */
  quiet(waits: () => boolean): Promise<void> {
    const { clock, drainMs } = this.#rules;
    return new Promise((resolve) => {
      const stop = clock.after(drainMs, resolve);
      this.#check = () => {
        if (this.size > 0 || waits()) return;
        stop();
        resolve();
      };
      this.#check();
    });
  }
}
