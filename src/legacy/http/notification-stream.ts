import type { JsonObject } from "../../json/json.ts";
import { encodeMessage } from "../../jsonrpc/message.ts";
import type { Auth } from "../../model/peer.ts";
import { isLegacy, newestLegacy } from "../../model/revision.ts";
import { elicitationComplete, honoured } from "../../model/subscription.ts";
import type { SinkUser } from "../../transport/http/event-sink.ts";
import type { Beating } from "../../transport/http/heartbeat.ts";
import type { EventSink } from "../../transport/http/http-message.ts";
import type { LegacyServerCodec } from "../codec/codec.ts";
import { legacyServer } from "../codec/server-codec.ts";
import { allLists, createPages, type Listening, listenFrom, type News } from "../session/change-feed.ts";
import { createFollowing, type Following } from "../session/follow-task.ts";
import { messageFrame, primeFrame, truncatedFrame } from "./event-stream.ts";
import { ASIDE, type SharedRules } from "./session-rules.ts";
import { type KeptSession, partName, type Waits } from "./session-store.ts";

interface NewsOptions {
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
function newsId({ position, aside, tag }: NewsPlace): string {
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
  readonly #tasks: Following;
  readonly #completed = createPages();
  #readingAsides: Promise<void> | undefined;
  #moreAsides = false;

  constructor(options: NewsOptions, lost: boolean) {
    const { rules, session, owner, kept } = options;
    this.owner = owner;
    this.#options = options;
    this.#lost = lost;
    this.#early = !kept().ready;
    this.#claim = createNewsClaim(rules, session, owner, kept().since);
    this.#tasks = createFollowing((taskId) => void rules.waits.dropTask(session, taskId).catch(() => {}));
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
    this.#tasks.stop();
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
    this.#tasks.stop();
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
    const waits = await rules.waits.read(session).catch(() => undefined);
    const uris = await rules.shelf.uris(session).catch(() => undefined);
    if (turn !== this.#turn || this.#place === undefined || uris === undefined || waits === undefined) return;
    for (const [taskId, task] of Object.entries(waits.tasks)) void this.#follow(taskId, task);
    const filter = honoured({ ...allLists, resourceSubscriptions: uris, elicitationIds: waits.pages }, capabilities);
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

  /** What was told before is not told again. Of progress, that is as far as it was when this stream began. */
  async #follow(taskId: string, { token, isKnown = false }: Waits["tasks"][string]): Promise<void> {
    const { rules, session, auth } = this.#options;
    if (this.#tasks.has(taskId)) return;
    if (!isKnown) await rules.waits.tellTask(session, taskId).catch(() => {});
    if (this.#place === undefined || this.#over) return;
    const send = (method: string, params: JsonObject): Promise<void> | undefined =>
      this.#sink?.write(messageFrame(undefined, encodeMessage({ kind: "notification", method, params })));
    const task = { taskId, progressToken: token, isKnown };
    this.#tasks.follow(task, { service: rules.service, codec: this.#codec(), auth, send });
  }

  #tell({ method, params, position, lost }: News): void {
    if (this.#place === undefined || this.#sink === undefined) return;
    this.#place = { ...this.#place, position: position ?? this.#place.position };
    if (lost) this.#sink.write(truncatedFrame);
    // Positions may count anew: when all of it is said, it begins again from there.
    if (lost) queueMicrotask(() => this.#hush());
    const text = this.#encode(method, params);
    if (text === undefined) return;
    if (method === elicitationComplete && !this.#complete(params.elicitationId)) return;
    // An id is for what can be told again, and all of it: what is lost is said by several messages.
    const id = lost || position === undefined ? undefined : newsId(this.#place);
    const slow = this.#sink.write(messageFrame(id, text));
    if (slow !== undefined) void this.#pause(slow);
  }

  /** Nothing more is said of a page. False when that was so before. */
  #complete(id: unknown): boolean {
    const { rules, session } = this.#options;
    if (typeof id !== "string" || this.#completed.ids.includes(id)) return false;
    this.#completed.add(id);
    rules.waits.dropPage(session, id).catch(() => {});
    return true;
  }

  #codec(): LegacyServerCodec {
    const { revision } = this.#options.kept().peer;
    return legacyServer(isLegacy(revision) ? revision : newestLegacy);
  }

  #encode(method: string, params: News["params"]): string | undefined {
    const codec = this.#codec();
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

/** How far a client has come: among the changes of the service, and in what else belongs to no call. */
export interface NewsPlace {
  readonly position: number;
  readonly aside: number;
  /** The stream it has come so far on, over however many connections. */
  readonly tag: string;
}

/** Who tells the client of the news, and where that began, or stopped. */
interface Claim extends NewsPlace {
  readonly owner: string | null;
}

/** Every message goes one way: however many streams wait for news, in whichever processes, one of them gets them. */
interface NewsClaim {
  /**
   * Takes the news if nobody has them. Resolves to where to go on; undefined while another stream tells them. Who comes
   * back to the stream that has them takes its place.
   */
  take(last?: NewsPlace): Promise<NewsPlace | undefined>;
  /** Gives them back: another goes on from this place. */
  release(place: NewsPlace): Promise<void>;
}

/** `owner` begins with the id of the process, and a dot. `since` is where the first begins. */
function createNewsClaim(rules: SharedRules, session: string, owner: string, since: number): NewsClaim {
  const { store, node, sessionTtlMs } = rules;
  const name = partName(session, "news");
  const ttl = sessionTtlMs > 0 ? { ttl: sessionTtlMs } : {};

  const put = async (claim: Claim, version: string | null): Promise<boolean> =>
    (await store.values.put(name, JSON.stringify(claim), { version, ...ttl })) !== undefined;

  const isTold = async ({ owner: now }: Claim): Promise<boolean> =>
    now !== null && now !== owner && (await node.isAlive(nodeOf(now)));

  /** Also who seems to be gone hears it: it may have been away. */
  const moveFrom = async ({ owner: before }: Claim): Promise<void> => {
    if (before !== null && before !== owner) await node.tell({ kind: "moved", session, owner: before });
  };

  /** Where nobody ever told them, a client that says where it stopped is believed. */
  const first = (last: NewsPlace | undefined): Claim => ({
    owner: null,
    position: since,
    aside: 0,
    tag: last?.tag ?? newTag(),
  });

  return {
    async take(last) {
      for (;;) {
        const value = await store.values.get(name);
        const now = readClaim(value?.text) ?? first(last);
        const isBack = last?.tag === now.tag;
        if (!isBack && (await isTold(now))) return undefined;
        const { position, aside } = isBack ? last : now;
        const place = { position, aside, tag: last?.tag ?? newTag() };
        if (!(await put({ owner, ...place }, value?.version ?? null))) continue;
        await moveFrom(now);
        return place;
      }
    },
    async release(place) {
      const value = await store.values.get(name);
      if (value === undefined || readClaim(value.text)?.owner !== owner) return;
      if (await put({ owner: null, ...place }, value.version)) await node.tell({ kind: "free", session });
    },
  };
}

function readClaim(text: string | undefined): Claim | undefined {
  return text === undefined ? undefined : JSON.parse(text);
}

/** Tells the streams of one session apart. */
function newTag(): string {
  return crypto.randomUUID().slice(0, 8);
}

function nodeOf(owner: string): string {
  return owner.slice(0, owner.indexOf("."));
}
