import { legacyServer } from "../../../../codec/legacy-server.ts";
import { encodeMessage } from "../../../../jsonrpc/message.ts";
import { allLists } from "../../../../legacy/feed.ts";
import { type Listening, listenFrom, type News } from "../../../../legacy/listen-from.ts";
import type { Auth } from "../../../../model/peer.ts";
import { isLegacy, newestLegacy } from "../../../../model/revision.ts";
import { honoured } from "../../../../model/subscription.ts";
import type { EventSink } from "../../http-reply.ts";
import type { SinkUser } from "../../live-sink.ts";
import type { Beating } from "../../pulse.ts";
import { messageFrame, primeFrame, truncatedFrame } from "../event-frames.ts";
import { createNewsClaim, type NewsClaim, type NewsPlace } from "./news-claim.ts";
import { type KeptSession, partName } from "./session-shelf.ts";
import { ASIDE, type SharedRules } from "./shared-rules.ts";

export interface NewsOptions {
  readonly session: string;
  /** Unlike any other; begins with the id of the process, and a dot. */
  readonly owner: string;
  readonly primes: boolean;
  readonly rules: SharedRules;
  /** Where the client stopped, if it knows. */
  readonly last: NewsPlace | undefined;
  /** On whose behalf it is read. */
  readonly auth: Auth | undefined;
  /** What is known of the session now. */
  kept(): KeptSession;
  /** Hears that it is over. */
  left(news: NewsStream): void;
}

/** The id of an event that belongs to no call: all that a process needs to go on where another stopped. */
export function newsId({ position, aside, tag }: NewsPlace): string {
  return `n-${position}-${aside}-${tag}`;
}

export function readNewsId(text: string): NewsPlace | undefined {
  const [, position, aside, tag] = /^n-(\d{1,15})-(\d{1,15})-([0-9a-f]{8})$/.exec(text) ?? [];
  return tag === undefined ? undefined : { position: Number(position), aside: Number(aside), tag };
}

/**
 * What a GET reads that waits for what belongs to no call.
 *
 * Nothing is written for it: changes are told from where the client stopped, out
 * of what the service remembers. While another stream of the session has the
 * news, this one waits for its turn.
 */
export class NewsStream implements SinkUser, Beating {
  previous: Beating | undefined = undefined;
  next: Beating | undefined = undefined;
  readonly owner: string;
  readonly #options: NewsOptions;
  readonly #claim: NewsClaim;
  #sink: EventSink | undefined;
  /** How far it has told; undefined while another tells the news. */
  #place: NewsPlace | undefined;
  #lost: boolean;
  /** True while the client was not ready when the news were taken: then they begin with that. */
  #early = false;
  #over = false;
  #listening: Listening | undefined;
  /** Counts who wants to listen: the last one does. */
  #turn = 0;
  #readingAsides: Promise<void> | undefined;
  #moreAsides = false;

  constructor(options: NewsOptions, lost: boolean) {
    const { rules, session, owner, kept } = options;
    this.owner = owner;
    this.#options = options;
    this.#lost = lost;
    this.#early = !kept().ready;
    this.#claim = createNewsClaim(rules, session, owner, kept().since);
  }

  /** Takes the news, if they are to be had. */
  async take(): Promise<void> {
    if (this.#place !== undefined || this.#over) return;
    const taken = await this.#claim.take(this.#options.last);
    if (taken === undefined || this.#place !== undefined) return;
    this.#place = taken;
    if (this.#over) await this.#claim.release(taken);
    else if (this.#sink !== undefined) this.#begin(this.#sink, taken);
  }

  attach(sink: EventSink): void {
    if (this.#over) return void sink.end();
    this.#sink = sink;
    this.#options.rules.looks.add(this);
    if (this.#place !== undefined) this.#begin(sink, this.#place);
    else if (this.#lost) sink.write(truncatedFrame);
  }

  detach(): void {
    void this.#stop();
  }

  /** Ends it here, so that the client comes back, to whichever process. Resolves when another can go on. */
  async end(): Promise<void> {
    this.#sink?.end();
    await this.#stop();
  }

  /** Another stream tells the news now. */
  moved(): void {
    this.#place = undefined;
    void this.end();
  }

  /** What the session hears of may be different. */
  refresh(): void {
    if (this.#place !== undefined) void this.#listen();
  }

  /** There is more that belongs to no call. */
  asides(): void {
    this.#moreAsides = true;
    this.#readingAsides ??= this.#readAsides()
      .catch(() => {})
      .finally(() => {
        this.#readingAsides = undefined;
      });
  }

  beat(): void {
    if (this.#place === undefined) void this.take().catch(() => {});
    else if (this.#listening === undefined) this.refresh();
    if (this.#moreAsides) this.asides();
  }

  #begin(sink: EventSink, place: NewsPlace): void {
    const { primes, rules } = this.#options;
    if (primes) sink.write(primeFrame(newsId(place), rules.retryMs));
    if (this.#lost) sink.write(truncatedFrame);
    this.#lost = false;
    this.asides();
    void this.#listen();
  }

  async #stop(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#sink = undefined;
    this.#turn++;
    this.#listening?.stop();
    this.#options.rules.looks.delete(this);
    this.#options.left(this);
    // If the store is away, who comes next goes on from where this one began, or from what the client says.
    if (this.#place !== undefined) await this.#claim.release(this.#place).catch(() => {});
  }

  /** Listens anew, from where it is. What it does not know of any more, the service says. */
  async #listen(): Promise<void> {
    const { rules, session, auth, kept } = this.#options;
    const turn = ++this.#turn;
    this.#listening?.stop();
    this.#listening = undefined;
    const { ready, capabilities, since } = kept();
    if (!ready || this.#place === undefined) return;
    if (this.#early) this.#place = { ...this.#place, position: Math.max(this.#place.position, since) };
    this.#early = false;
    const uris = await rules.shelf.uris(session).catch(() => undefined);
    if (turn !== this.#turn || this.#place === undefined || uris === undefined) return;
    const filter = honoured({ ...allLists, resourceSubscriptions: uris }, capabilities);
    if (Object.keys(filter).length === 0) {
      this.#listening = silence;
      return;
    }
    const listening = listenFrom({
      service: rules.service,
      filter,
      auth,
      after: this.#place.position,
      tell: (news) => this.#tell(news),
      ended: () => {
        if (turn === this.#turn) this.#listening = undefined;
      },
    });
    if (turn === this.#turn) this.#listening = listening;
    else listening.stop();
  }

  #tell({ method, params, position, lost }: News): void {
    if (this.#place === undefined || this.#sink === undefined) return;
    this.#place = { ...this.#place, position: position ?? this.#place.position };
    if (lost) this.#sink.write(truncatedFrame);
    // Positions may count anew: when all of it is said, it begins again from there.
    if (lost) queueMicrotask(() => this.#hush());
    const text = this.#encode(method, params);
    if (text === undefined) return;
    // An id is for what can be told again, and all of it: what is lost is said by several messages.
    const id = lost || position === undefined ? undefined : newsId(this.#place);
    const slow = this.#sink.write(messageFrame(id, text));
    if (slow !== undefined) void this.#pause(slow);
  }

  #encode(method: string, params: News["params"]): string | undefined {
    const { revision } = this.#options.kept().peer;
    const codec = legacyServer(isLegacy(revision) ? revision : newestLegacy);
    const encoded = codec.encodeNotification(method, params);
    if (encoded === undefined) return undefined;
    return encodeMessage({ kind: "notification", method: codec.notificationName(method), params: encoded });
  }

  /** Listens no more, until the next look. */
  #hush(): void {
    this.#turn++;
    this.#listening?.stop();
    this.#listening = undefined;
  }

  /** What a slow client has yet to hear waits where it is kept anyway. */
  async #pause(slow: Promise<void>): Promise<void> {
    const turn = ++this.#turn;
    this.#listening?.stop();
    this.#listening = silence;
    await slow;
    if (turn === this.#turn) await this.#listen();
  }

  async #readAsides(): Promise<void> {
    const { rules, session } = this.#options;
    while (this.#moreAsides && this.#place !== undefined && !this.#over) {
      this.#moreAsides = false;
      const from = this.#place.aside;
      const { events, last, lost } = await rules.store.streams.read(partName(session, ASIDE), from);
      if (lost) this.#sink?.write(truncatedFrame);
      if (lost && events.length === 0) this.#place = { ...this.#place, aside: last };
      for (const { position, text } of events) {
        if (this.#place === undefined || this.#over) return;
        this.#place = { ...this.#place, aside: position };
        this.#moreAsides = true;
        await this.#sink?.write(messageFrame(newsId(this.#place), text));
      }
    }
  }
}

/** Stands for listening while there is nothing to listen to. */
const silence: Listening = { begun: Promise.resolve(undefined), stop() {} };
