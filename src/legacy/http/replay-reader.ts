import { encodeMessage, type Id, parseText } from "../../jsonrpc/message.ts";
import type { Auth } from "../../protocol/peer.ts";
import { hasScopes } from "../../protocol/scopes.ts";
import { type Awaitable, chain } from "../../std/awaitable.ts";
import type { StreamEvent, StreamPage, TopicSubscription } from "../../store/store.ts";
import type { SinkUser } from "../../transport/http/event-sink.ts";
import type { HeartbeatListener } from "../../transport/http/heartbeat.ts";
import type { EventSink } from "../../transport/http/http-message.ts";
import { messageFrame, primeFrame, truncatedFrame, wholeId } from "./event-frames.ts";
import { goneError } from "./post-response.ts";
import { RETENTION_MS, type StreamHead } from "./response-stream.ts";
import { isWholeMark, scopesInMark } from "./session-replay.ts";
import { END, type SessionRules } from "./session-rules.ts";
import { partName, randomName, WHOLE_RESPONSES } from "./session-store.ts";

export interface ReaderOptions {
  readonly session: string;
  /** The stream, and the last event that the client has. */
  readonly stream: string;
  readonly after: number;
  readonly primes: boolean;
  readonly rules: SessionRules;
  /** The client that reconnects. */
  readonly auth: Auth | undefined;
  /** Called when the replay is over. */
  left(reader: ReplayReader): void;
}

/** Events that are read at a time. */
const PAGE = 200;
/**
 * A process counts as ended after this number of checks in a row without a heartbeat. The checks are fast, but not
 * where the store may have been unavailable: other processes may take longer to reach it again.
 */
const MISSES = 3;
const AGAIN_MS = 750;

/**
 * A GET that resumes the events of a POST. Undefined when there are none; `over` when the client has all; `forbidden`
 * when it has fewer permissions than the POST.
 */
export function findReplay(options: ReaderOptions): Awaitable<ReplayReader | "over" | "forbidden" | undefined> {
  const { session, stream, after, rules } = options;
  const name = partName(session, stream);
  const [getting, reading] = [rules.store.values.get(name), rules.store.streams.read(name, after, PAGE)];
  return chain(getting, (head) =>
    chain(reading, (first) => {
      if (head === undefined && first.last === 0) return undefined;
      const known: StreamHead | undefined = head && JSON.parse(head.text);
      if (!hasScopes(options.auth, known?.scopes ?? [])) return "forbidden";
      if (first.events[0]?.text === END) return "over";
      return new ReplayReader(options, known, first);
    }),
  );
}

/**
 * The events that follow in a response that went out whole. Undefined when there is none, or it is kept no longer; `over`
 * when the client has them all; `forbidden` when it may less than the POST.
 */
export async function findWhole(
  { session, primes, rules, auth }: Pick<ReaderOptions, "session" | "primes" | "rules" | "auth">,
  { id, after }: { readonly id: string; readonly after: number },
): Promise<{ readonly events: string } | "over" | "forbidden" | undefined> {
  const whole = await readWhole(rules, session, id);
  if (whole === undefined || after > whole.texts.length) return undefined;
  const { texts, scopes } = whole;
  if (!hasScopes(auth, scopes)) return "forbidden";
  if (after === texts.length) return "over";
  const prime = primes ? primeFrame(wholeId(id, after), rules.retryMs) : "";
  const frames = texts.map((text, index) => messageFrame(wholeId(id, index + 1), text)).slice(after);
  return { events: prime + frames.join("") };
}

interface Whole {
  readonly texts: readonly string[];
  /** What it takes to pick it up. */
  readonly scopes: readonly string[];
}

async function readWhole(rules: SessionRules, session: string, id: string): Promise<Whole | undefined> {
  const texts: string[] = [];
  for (let after = 0; ; ) {
    const { events, last } = await rules.store.streams.read(partName(session, WHOLE_RESPONSES), after);
    texts.push(...events.map(({ text }) => text));
    after = events.at(-1)?.position ?? last;
    if (after >= last) break;
  }
  const start = texts.findIndex((text) => scopesInMark(text, id) !== undefined) + 1;
  const scopes = scopesInMark(texts[start - 1] ?? "", id);
  if (scopes === undefined) return undefined;
  const end = texts.findIndex((text, index) => index >= start && isWholeMark(text));
  return { scopes, texts: texts.slice(start, end < 0 ? undefined : end) };
}

/**
 * Follows the events of a POST that any process writes.
 *
 * When that process is gone, the requests that wait are answered with an error,
 * in the stream, so that all who read it see the same.
 */
export class ReplayReader implements SinkUser, HeartbeatListener {
  previous: HeartbeatListener | undefined = undefined;
  next: HeartbeatListener | undefined = undefined;
  readonly #options: ReaderOptions;
  readonly #head: StreamHead | undefined;
  readonly #name: string;
  readonly #id = randomName();
  #first: StreamPage | undefined;
  #position: number;
  #sink: EventSink | undefined;
  #subscription: TopicSubscription | undefined;
  #over = false;
  #misses = 0;
  #stopLooking: (() => void) | undefined;
  #rouse = (): void => {};
  /** True when there may be more than was read. */
  #more = true;

  constructor(options: ReaderOptions, head: StreamHead | undefined, first: StreamPage) {
    this.#options = options;
    this.#head = head;
    this.#first = first;
    this.#position = Math.min(options.after, first.last);
    this.#name = partName(options.session, options.stream);
  }

  attach(sink: EventSink): void {
    if (this.#over) return void sink.end();
    const { primes, stream, rules } = this.#options;
    this.#sink = sink;
    if (primes) sink.write(primeFrame(`${stream}-${this.#position}`, rules.retryMs));
    rules.looks.add(this);
    void this.#run();
  }

  detach(): void {
    this.#stop();
  }

  /** Somebody reads the stream now; it may be this. */
  taken(stream: string, reader: string): void {
    if (stream === this.#options.stream && reader !== this.#id) this.end();
  }

  end(): void {
    this.#sink?.end();
    this.#stop();
  }

  beat(): void {
    this.#wake();
    if (this.#stopLooking === undefined) void this.#look();
  }

  #wake(): void {
    this.#more = true;
    this.#rouse();
  }

  #stop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink = undefined;
    this.#options.rules.looks.delete(this);
    this.#stopLooking?.();
    this.#rouse();
    void this.#subscription?.close();
    this.#options.left(this);
  }

  async #run(): Promise<void> {
    while (!this.#over) {
      try {
        const told = this.#tellAll();
        if (told instanceof Promise) await told;
        if (!this.#over) await this.#follow();
      } catch {
        // The store is away: the next look tries again.
        this.#more = false;
      }
      if (!this.#more && !this.#over) await this.#woken();
    }
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#rouse = resolve;
    });
  }

  /** Who writes is told once that it is read here, and says from then on when there is more. */
  async #follow(): Promise<void> {
    if (this.#subscription !== undefined) return;
    const { rules, session, stream } = this.#options;
    const subscription = await rules.store.topics.subscribe(this.#name);
    this.#subscription = subscription;
    if (this.#over) return subscription.close();
    void this.#readTopic(subscription);
    await rules.node.tell({ kind: "taken", session, stream, reader: this.#id });
    this.#more = true;
  }

  async #readTopic(subscription: TopicSubscription): Promise<void> {
    for await (const _ of subscription) this.#wake();
  }

  /** Writes what there is, at once as far as that is possible. */
  #tellAll(): Awaitable<void> {
    if (!this.#more || this.#over) return;
    this.#more = false;
    const reading = this.#first ?? this.#options.rules.store.streams.read(this.#name, this.#position, PAGE);
    this.#first = undefined;
    return chain(reading, (read) => chain(this.#tellPart(read), () => this.#tellAll()));
  }

  #tellPart({ events, last, lost }: StreamPage): Awaitable<void> {
    if (lost) this.#sink?.write(truncatedFrame);
    if (lost && events.length === 0) return this.#goBack(last);
    for (const [index, event] of events.entries()) {
      const slow = this.#over ? undefined : this.#tell(event);
      if (slow !== undefined)
        return slow.then(() => this.#tellPart({ events: events.slice(index + 1), last, lost: false }));
    }
  }

  /** Who has read further than there is reads on with what comes, if anything does. */
  async #goBack(last: number): Promise<void> {
    this.#position = last;
    if (last === 0 && (await this.#isForgotten())) return this.end();
    const { events } = await this.#options.rules.store.streams.read(this.#name, Math.max(0, last - 1), 1);
    if (events[0]?.text === END) this.end();
  }

  async #isForgotten(): Promise<boolean> {
    return (await this.#options.rules.store.values.get(this.#name)) === undefined;
  }

  #tell({ position, text }: StreamEvent): Promise<void> | undefined {
    if (text === END) return void this.end();
    this.#position = position;
    this.#more = true;
    return this.#sink?.write(messageFrame(`${this.#options.stream}-${position}`, text));
  }

  /** Never rejects: while the store is away, nobody can tell. */
  async #look(): Promise<void> {
    const head = this.#head;
    if (head === undefined || this.#over) return;
    try {
      if (!(await this.#isGone(head)) || this.#over) return;
      await this.#answerFor(head);
      this.#wake();
    } catch {
      // The next look tries again.
    }
  }

  async #isGone({ node: writer }: StreamHead): Promise<boolean> {
    const { node, clock } = this.#options.rules;
    this.#misses = (await node.isAlive(writer)) ? 0 : this.#misses + 1;
    if (this.#misses === MISSES) {
      this.#misses = 0;
      return true;
    }
    if (this.#misses > 0 && node.isSteady && !this.#over) {
      this.#stopLooking = clock.after(AGAIN_MS, () => {
        this.#stopLooking = undefined;
        void this.#look();
      });
    }
    return false;
  }

  /** Answers what the process that is gone did not. If it does so after all, nobody reads what follows the end. */
  async #answerFor({ ids, harmless = [] }: StreamHead): Promise<void> {
    const { streams } = this.#options.rules.store;
    const open = new Set<Id | null>(ids);
    for (let after = 0; ; ) {
      const { events } = await streams.read(this.#name, after, PAGE);
      if (events.length === 0) break;
      for (const { text } of events) {
        if (text === END) return;
        const message = parseText(text);
        if (message.kind === "success" || message.kind === "failure") open.delete(message.id);
      }
      after = events.at(-1)?.position ?? after;
    }
    const answers = [...open].map((id) =>
      encodeMessage({ kind: "failure", id, error: goneError(id !== null && harmless.includes(id)) }),
    );
    await streams.append(this.#name, [...answers, END], { ttlMs: RETENTION_MS });
  }
}
