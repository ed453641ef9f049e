import type { Id, Parsed } from "../../jsonrpc/message.ts";
import { onlyReads } from "../../model/methods.ts";
import { promised } from "../../std/awaitable.ts";
import { isAway } from "../../store/store.ts";
import type { EventSink } from "../../transport/http/http-message.ts";
import { createWait, MAX_MISSED, messageFrame, primeFrame, retryFrame, type Wait } from "./event-stream.ts";
import { type AnswerStream, itemsOf } from "./post-response.ts";
import { END, LOOK_MS, type SharedRules } from "./session-rules.ts";
import { partName, randomName } from "./session-store.ts";

/** Who writes a stream, and to which requests it is the answer. */
export interface StreamHead {
  readonly node: string;
  readonly ids: readonly Id[];
  /** Those of them that do no harm when they are sent again. */
  readonly harmless?: readonly Id[];
}

interface KeptStreamOptions {
  readonly session: string;
  /** Unlike any other of the session. */
  readonly id: string;
  /** The requests that it is the answer to. */
  readonly ids: readonly Id[];
  readonly harmless: readonly Id[];
  readonly primes: boolean;
  readonly rules: SharedRules;
  /** Hears that all is kept, and nothing more will be written. */
  over(): void;
}

/** How long a stream is kept after its end: clients that come back do so within seconds. */
export const AFTERLIFE_MS = 300_000;
const DAY_MS = 86_400_000;

interface Item {
  /** What to write; or else when the client should come back. */
  readonly text?: string;
  readonly retryMs?: number;
  done?(slow: Promise<void> | undefined): void;
}

/**
 * The events of one POST, in the store before they are on a socket.
 *
 * Whoever comes back for them, to whichever process, finds what was written so
 * far and follows the rest. A store that is slow or away holds up who writes.
 */
class KeptStream implements AnswerStream {
  readonly #options: KeptStreamOptions;
  readonly #name: string;
  readonly #queue: Item[] = [];
  readonly #sizes: number[] = [];
  #chars = 0;
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

  constructor(options: KeptStreamOptions) {
    this.#options = options;
    this.#name = partName(options.session, options.id);
  }

  attach(sink: EventSink): void {
    this.#sink = sink;
    this.#release();
    void this.#pump();
  }

  detach(sink: EventSink): void {
    if (this.#sink === sink) this.#sink = undefined;
  }

  write(text: string): Promise<void> | undefined {
    if (this.#ended) return undefined;
    return new Promise((resolve) => {
      this.#put({ text, done: (slow) => (slow === undefined ? resolve() : void slow.then(resolve)) });
    });
  }

  async whole(texts: readonly string[]): Promise<string> {
    this.#ended = true;
    const kept = await this.#append([...texts, END], AFTERLIFE_MS);
    this.#options.over();
    const { primes, rules } = this.#options;
    const prime = primes && kept ? primeFrame(this.#idOf(0), rules.retryMs) : "";
    return prime + texts.map((text, index) => messageFrame(kept ? this.#idOf(index + 1) : undefined, text)).join("");
  }

  hangUp(retryMs: number = this.#options.rules.retryMs): void {
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

  #idOf(position: number): string {
    return `${this.#options.id}-${position}`;
  }

  #put(item: Item): void {
    this.#queue.push(item);
    void this.#pump();
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    if (!this.#begun) await this.#begin();
    while (this.#queue.length > 0) {
      const items = this.#takeTexts();
      if (items.length > 0) await this.#writeAll(items);
      else this.#breakOff(this.#queue.shift()?.retryMs ?? 0);
    }
    this.#pumping = false;
  }

  /** Nobody hears of a stream before it says who writes it. */
  async #begin(): Promise<void> {
    const { ids, harmless, primes, rules } = this.#options;
    const head: StreamHead = { node: rules.node.id, ids, harmless };
    this.#kept = await this.#retry(async () => {
      await rules.store.values.put(this.#name, JSON.stringify(head), { ttl: this.#ttl() });
      return true;
    });
    this.#begun = true;
    if (primes && this.#kept) this.#sink?.write(primeFrame(this.#idOf(0), rules.retryMs));
  }

  #takeTexts(): readonly Item[] {
    const end = this.#queue.findIndex(({ text }) => text === undefined);
    return this.#queue.splice(0, end < 0 ? this.#queue.length : end);
  }

  async #writeAll(items: readonly Item[]): Promise<void> {
    const texts = items.map(({ text = END }) => text);
    const ends = texts.at(-1) === END;
    if (this.#kept) this.#kept = await this.#append(texts, ends ? AFTERLIFE_MS : this.#ttl());
    for (const { text = END, done } of items) {
      this.#position++;
      const slow = text === END ? undefined : this.#show(text);
      done?.(slow ?? this.#comeBack());
    }
    if (this.#followed) this.#wake();
    if (!ends) return;
    this.#letGo();
    this.#options.over();
  }

  #show(text: string): Promise<void> | undefined {
    if (this.#sink === undefined) return undefined;
    this.#seen = this.#position;
    return this.#sink.write(messageFrame(this.#kept ? this.#idOf(this.#position) : undefined, text));
  }

  /** False when it is not in the store, or not where it should be. */
  #append(texts: readonly string[], ttl: number): Promise<boolean> {
    const { streams } = this.#options.rules.store;
    const keep = this.#keep(texts);
    return this.#retry(async (again) => {
      if (again && (await this.#isThere(texts))) return true;
      return (await streams.append(this.#name, texts, { ttl, keep })) === this.#position + texts.length;
    });
  }

  /** An append that failed may have been carried out. */
  async #isThere(texts: readonly string[]): Promise<boolean> {
    const { events } = await this.#options.rules.store.streams.read(this.#name, this.#position, texts.length);
    return events.length === texts.length && events.every(({ text }, index) => text === texts[index]);
  }

  /** Tries until the store is there. */
  async #retry(attempt: (again: boolean) => Promise<boolean>): Promise<boolean> {
    for (let again = false; ; again = true) {
      try {
        return await attempt(again);
      } catch (error) {
        const { node, clock } = this.#options.rules;
        if (!isAway(error) || node.left) return false;
        await new Promise<void>((resolve) => clock.after(LOOK_MS, resolve));
      }
    }
  }

  /** How many of the newest events are worth their room. */
  #keep(texts: readonly string[]): number {
    const { replayChars } = this.#options.rules;
    for (const { length } of texts) {
      this.#sizes.push(length);
      this.#chars += length;
    }
    while (this.#sizes.length > texts.length && this.#chars > replayChars) {
      this.#chars -= this.#sizes.shift() ?? 0;
    }
    return this.#sizes.length;
  }

  #ttl(): number {
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

  /** Who writes much to a client that is away waits for it, for a while. */
  #comeBack(): Promise<void> | undefined {
    if (this.#sink !== undefined || this.#followed || this.#position - this.#seen <= MAX_MISSED) return undefined;
    this.#waiting ??= createWait(this.#options.rules.clock, () => {
      this.#waiting = undefined;
    });
    return this.#waiting.back;
  }

  #release(): void {
    this.#waiting?.release();
    this.#waiting = undefined;
  }

  /** Tells who follows that there is more. One message says so for all that came while it was on its way. */
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

/** The answers of one session that this process writes as events. */
export class SessionWriters {
  readonly #session: string;
  readonly #rules: SharedRules;
  readonly #streams = new Map<string, KeptStream>();
  #check = (): void => {};

  constructor(session: string, rules: SharedRules) {
    this.#session = session;
    this.#rules = rules;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** A stream for the answers to what was posted. */
  create(posted: Parsed, primes: boolean): AnswerStream {
    const id = randomName();
    const requests = itemsOf(posted).filter((item) => item.kind === "request");
    const ids = requests.map((request) => request.id);
    const harmless = requests.filter(({ method }) => onlyReads(method)).map((request) => request.id);
    const over = (): void => {
      this.#streams.delete(id);
      this.#check();
    };
    const stream = new KeptStream({ session: this.#session, id, ids, harmless, primes, rules: this.#rules, over });
    this.#streams.set(id, stream);
    return stream;
  }

  /** Somebody reads a stream now. */
  taken(stream: string): void {
    this.#streams.get(stream)?.taken();
  }

  /** Something else was answered. */
  answered(): void {
    this.#check();
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
