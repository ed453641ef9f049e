import type { Account } from "../../protocol/budget.ts";
import type { LogLevel } from "../../protocol/logging.ts";
import type { Auth } from "../../protocol/peer.ts";
import { type Awaitable, chain, promised } from "../../std/awaitable.ts";
import type { StreamEvent } from "../../store/store.ts";
import type { SinkUser } from "../../transport/http/event-sink.ts";
import type { HeartbeatListener } from "../../transport/http/heartbeat.ts";
import type { EventSink } from "../../transport/http/http-message.ts";
import type { ChangeNotification } from "../session/change-hub.ts";
import { messageFrame, primeFrame, truncatedFrame } from "./event-frames.ts";
import { type ChangesReader, SessionChanges } from "./session-changes.ts";
import type { SessionRules } from "./session-rules.ts";
import { type KeptSession, NO_CALL_STREAM, NOTIFICATIONS, partName, randomName } from "./session-store.ts";

/** What the GETs of a session need of it. */
export interface ReadersSession {
  readonly id: string;
  /** Whose shares its streams are taken of. */
  readonly share: Account;
  readonly rules: SessionRules;
  readonly primes: boolean;
  /** What is known of the session now. */
  readonly record: KeptSession;
  /** Called when a stream has ended. */
  readerLeft(): void;
}

interface NotificationStreamOptions {
  readonly home: ReadersSession;
  /** Where the client stopped, if it knows. */
  readonly last: NotificationPlace | undefined;
  /** True when it stopped somewhere else: then it has lost something. */
  readonly lost: boolean;
  /** On whose behalf it is read. */
  readonly auth: Auth | undefined;
}

/** Called when a stream has ended. */
interface StreamsOwner {
  left(stream: NotificationStream): void;
}

/** The id of an event that belongs to no call: all that a process needs to go on where another stopped. */
function notificationId({ position, aside, tag }: NotificationPlace): string {
  return `n-${position}-${aside}-${tag}`;
}

export function readNotificationId(text: string): NotificationPlace | undefined {
  const [, position, aside, tag] = /^n-(\d{1,15})-(\d{1,15})-([0-9a-f]{8})$/.exec(text) ?? [];
  return tag === undefined ? undefined : { position: Number(position), aside: Number(aside), tag };
}

/**
 * A GET stream for messages that belong to no call.
 *
 * Messages of the session are read from the store, and changes from the service, from the position of the client. While
 * another stream delivers to the client, this one waits.
 */
export class NotificationStream implements SinkUser, HeartbeatListener, ChangesReader {
  previous: HeartbeatListener | undefined = undefined;
  next: HeartbeatListener | undefined = undefined;
  /** Unlike any other; begins with the id of the process, and a dot. */
  readonly owner: string;
  readonly #home: ReadersSession;
  readonly #last: NotificationPlace | undefined;
  readonly #auth: Auth | undefined;
  readonly #streams: StreamsOwner;
  #sink: EventSink | undefined;
  /** The position of the delivery; undefined while another stream delivers. */
  #place: NotificationPlace | undefined;
  #lost: boolean;
  /** True while the client was not ready when this began to tell it: then it begins with that. */
  #early = false;
  #over = false;
  #changes: SessionChanges | undefined;
  #isReadingAsides = false;
  #moreAsides = false;

  constructor(options: NotificationStreamOptions, streams: StreamsOwner) {
    const { home, last, lost, auth } = options;
    this.#streams = streams;
    this.owner = `${home.rules.node.id}.${randomName()}`;
    this.#home = home;
    this.#last = last;
    this.#auth = auth;
    this.#lost = lost;
    this.#early = !home.record.ready;
  }

  get #rules(): SessionRules {
    return this.#home.rules;
  }

  get #claim(): NotificationClaim {
    return new NotificationClaim(this.#home, this.owner);
  }

  /** Takes the notifications of the session, if they are to be had. */
  take(): Awaitable<void> {
    if (this.#place !== undefined || this.#over) return;
    return chain(this.#claim.take(this.#last), (taken) => this.#taken(taken));
  }

  attach(sink: EventSink): void {
    if (this.#over) return void sink.end();
    this.#sink = sink;
    this.#rules.looks.add(this);
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

  /** Another stream delivers to the client now. */
  moved(): void {
    this.#place = undefined;
    this.#changes?.close();
    void this.end();
  }

  /** The subscriptions of the session have changed. */
  refresh(): void {
    if (this.#place !== undefined) void this.#listen();
  }

  /** There is more that belongs to no call. */
  asides(): void {
    this.#moreAsides = true;
    if (!this.#isReadingAsides) void this.#readAsides();
  }

  beat(): void {
    if (this.#place === undefined) void promised(() => this.take()).catch(() => {});
    else if (this.#changes?.isListening !== true) this.refresh();
    if (this.#moreAsides) this.asides();
  }

  #taken(taken: NotificationPlace | undefined): Awaitable<void> {
    if (taken === undefined || this.#place !== undefined) return;
    this.#place = taken;
    if (this.#over) return this.#claim.release(taken);
    if (this.#sink !== undefined) this.#begin(this.#sink, taken);
  }

  #begin(sink: EventSink, place: NotificationPlace): void {
    const { primes, rules } = this.#home;
    if (primes) sink.write(primeFrame(notificationId(place), rules.retryMs));
    if (this.#lost) sink.write(truncatedFrame);
    this.#lost = false;
    this.asides();
    void this.#listen();
  }

  async #stop(): Promise<void> {
    if (this.#over) return;
    this.#over = true;
    this.#sink = undefined;
    this.#changes?.close();
    this.#rules.looks.delete(this);
    this.#streams.left(this);
    // If the store is away, who comes next goes on from where this one began, or from what the client says.
    if (this.#place !== undefined) await this.#claim.release(this.#place).catch(() => {});
  }

  /** Listens anew, from where it is. What it does not know of any more, the service says. */
  async #listen(): Promise<void> {
    const { ready, since } = this.#home.record;
    // What a lone process tells, it keeps for the session.
    if (this.#rules.alone || !ready || this.#place === undefined) return void this.#changes?.stop();
    if (this.#early) this.#place = { ...this.#place, position: Math.max(this.#place.position, since) };
    this.#early = false;
    this.#changes ??= this.#createChanges();
    await this.#changes.refresh(() => this.#place?.position);
  }

  #createChanges(): SessionChanges {
    const { id, rules, record } = this.#home;
    return new SessionChanges({ session: id, rules, auth: this.#auth, record, share: this.#home.share }, this);
  }

  get logLevel(): LogLevel | undefined {
    return this.#home.record.logLevel;
  }

  send(text: string): Promise<void> | undefined {
    return this.#sink?.write(messageFrame(undefined, text));
  }

  changed(change: ChangeNotification): void {
    if (this.#place === undefined || this.#sink === undefined || this.#changes === undefined) return;
    const { position, lost } = change;
    this.#place = { ...this.#place, position: position ?? this.#place.position };
    if (lost) this.#sink.write(truncatedFrame);
    // Positions may count anew: when all of it is said, it begins again from there, at the next look.
    if (lost) queueMicrotask(() => this.#changes?.stop());
    const text = this.#changes.textOf(change);
    if (text === undefined) return;
    // An id is for what can be told again, and all of it: what is lost is said by several messages.
    const id = lost || position === undefined ? undefined : notificationId(this.#place);
    const slow = this.#sink.write(messageFrame(id, text));
    if (slow !== undefined) void this.#pause(slow);
  }

  /** What a slow client has yet to hear waits where it is kept anyway. */
  async #pause(slow: Promise<void>): Promise<void> {
    const paused = this.#changes?.pause();
    await slow;
    if (paused?.() === true) await this.#listen();
  }

  /** A message was kept that belongs to no call. */
  aside(position: number, text: string): Promise<void> | undefined {
    if (this.#place === undefined) return undefined;
    if (this.#sink === undefined || this.#isReadingAsides || this.#place.aside !== position - 1) {
      return void this.asides();
    }
    this.#place = withAside(this.#place, position);
    return this.#sink.write(messageFrame(notificationId(this.#place), text));
  }

  async #readAsides(): Promise<void> {
    this.#isReadingAsides = true;
    try {
      while (this.#moreAsides && this.#place !== undefined && !this.#over) await this.#tellAsides();
    } catch {
      // The store is away: the next look tries again.
      this.#moreAsides = true;
    }
    this.#isReadingAsides = false;
  }

  async #tellAsides(): Promise<void> {
    const { id } = this.#home;
    while (this.#moreAsides && this.#place !== undefined && !this.#over) {
      this.#moreAsides = false;
      const reading = this.#rules.store.streams.read(partName(id, NO_CALL_STREAM), this.#place.aside);
      const { events, last, lost } = reading instanceof Promise ? await reading : reading;
      if (lost) this.#sink?.write(truncatedFrame);
      if (lost && events.length === 0) this.#place = { ...this.#place, aside: last };
      for (const event of events) {
        const slow = this.#tellAside(event);
        if (slow !== undefined) await slow;
      }
    }
  }

  #tellAside({ position, text }: StreamEvent): Promise<void> | undefined {
    if (this.#place === undefined || this.#over) return undefined;
    this.#place = withAside(this.#place, position);
    this.#moreAsides = true;
    return this.#sink?.write(messageFrame(notificationId(this.#place), text));
  }
}

/** How far a client has come: among the changes of the service, and in what else belongs to no call. */
export interface NotificationPlace {
  readonly position: number;
  readonly aside: number;
  /** The stream it has come so far on, over however many connections. */
  readonly tag: string;
}

/** Made for every message: spreading an object costs more than all else. */
function withAside({ position, tag }: NotificationPlace, aside: number): NotificationPlace {
  return { position, aside, tag };
}

/** Who tells the client, and where that began, or stopped. */
interface Claim extends NotificationPlace {
  readonly owner: string | null;
}

/**
 * Elects the stream that delivers to the client. Every message is delivered once: one of all waiting streams, in all
 * processes, sends it.
 */
class NotificationClaim {
  readonly #home: ReadersSession;
  readonly #owner: string;

  constructor(home: ReadersSession, owner: string) {
    this.#home = home;
    this.#owner = owner;
  }

  /**
   * Claims the delivery if no stream has it. Returns the position to continue from, or undefined while another stream
   * delivers. A client that reconnects to its stream replaces it.
   */
  take(last: NotificationPlace | undefined): Awaitable<NotificationPlace | undefined> {
    return chain(this.#home.rules.store.values.get(this.#name), (value) => {
      const now = readClaim(value?.text) ?? this.#first(last);
      const isBack = last?.tag === now.tag;
      return chain(isBack ? false : this.#isHeld(now.owner), (isHeld) => {
        if (isHeld) return undefined;
        const { position, aside } = isBack ? (last as NotificationPlace) : now;
        const place = { position, aside, tag: last?.tag ?? newTag() };
        return chain(this.#put({ owner: this.#owner, ...place }, value?.version ?? null), (isTaken) => {
          if (!isTaken) return this.take(last);
          return chain(this.#moveFrom(now.owner), () => place);
        });
      });
    });
  }

  /** Releases the delivery: another stream continues from this position. */
  async release(place: NotificationPlace): Promise<void> {
    const { id, rules } = this.#home;
    const getting = rules.store.values.get(this.#name);
    const value = getting instanceof Promise ? await getting : getting;
    if (value === undefined || readClaim(value.text)?.owner !== this.#owner) return;
    const putting = this.#put({ owner: null, ...place }, value.version);
    if (putting instanceof Promise ? await putting : putting) await rules.node.tell({ kind: "free", session: id });
  }

  get #name(): string {
    return partName(this.#home.id, NOTIFICATIONS);
  }

  #put(claim: Claim, version: string | null): Awaitable<boolean> {
    const { store, sessionTtlMs: ttlMs } = this.#home.rules;
    const put = store.values.put(this.#name, JSON.stringify(claim), { version, ...(ttlMs > 0 && { ttlMs }) });
    return chain(put, (written) => written !== undefined);
  }

  #isHeld(owner: string | null): Awaitable<boolean> {
    if (owner === null || owner === this.#owner) return false;
    const { node } = this.#home.rules;
    return nodeOf(owner) === node.id || node.isAlive(nodeOf(owner));
  }

  /** Also who seems to be gone hears it: it may have been away. */
  #moveFrom(owner: string | null): Awaitable<void> {
    if (owner === null || owner === this.#owner) return;
    return this.#home.rules.node.tell({ kind: "moved", session: this.#home.id, owner });
  }

  /** Where nobody ever told the client, one that says where it stopped is believed. */
  #first(last: NotificationPlace | undefined): Claim {
    return { owner: null, position: this.#home.record.since, aside: 0, tag: last?.tag ?? newTag() };
  }
}

function readClaim(text: string | undefined): Claim | undefined {
  return text === undefined ? undefined : JSON.parse(text);
}

/** Identifies the streams of one session. */
function newTag(): string {
  return crypto.randomUUID().slice(0, 8);
}

function nodeOf(owner: string): string {
  return owner.slice(0, owner.indexOf("."));
}
