import type { Account, Shortage } from "../../protocol/budget.ts";
import type { Failure } from "../../protocol/errors.ts";
import type { LogLevel } from "../../protocol/logging.ts";
import type { Auth } from "../../protocol/peer.ts";
import { endSession } from "../../protocol/session.ts";
import { type SessionEnd, startServerSession } from "../../protocol/telemetry.ts";
import type { ChangeNotification } from "../session/change-hub.ts";
import { type ChangesReader, SessionChanges } from "./session-changes.ts";
import { SessionReplay } from "./session-replay.ts";
import type { SessionRules } from "./session-rules.ts";
import { type KeptSession, type StoredSession, sessionBytes, subscriptionBytes } from "./session-store.ts";

/** What all sessions that a process holds have in common. */
export interface HolderRules {
  readonly rules: SessionRules;
  /** Hands a message that was kept to who reads what belongs to no call, if somebody does. */
  deliver(session: string, position: number, text: string): Promise<void> | undefined;
}

/**
 * What the process that opened a session holds until it ends, whether or not
 * something is going on: when its client was last heard of, how much is kept for
 * it and, where there is no other process, what it hears of.
 */
export class HeldSession implements ChangesReader {
  readonly id: string;
  /** What was last read of it. */
  kept: StoredSession | undefined;
  readonly replay: SessionReplay;
  /** Whose shares it takes: one session, until its end, and what it subscribes to. */
  readonly share: Account;
  #recordBytes = 0;
  #subscriptions = 0;
  #subscribedBytes = 0;
  readonly opened: number;
  seen: number;
  readonly #holder: HolderRules;
  readonly #auth: Auth | undefined;
  #changes: SessionChanges | undefined;
  /** What is to be told when the client has caught up: the same only once. */
  #waiting: Map<string, string> | undefined;
  #ended = false;
  #end: SessionEnd | undefined;

  constructor(id: string, auth: Auth | undefined, share: Account, holder: HolderRules) {
    this.id = id;
    this.share = share;
    this.#auth = auth;
    this.#holder = holder;
    this.replay = new SessionReplay(id, holder.rules, share);
    this.opened = holder.rules.clock.now();
    this.seen = this.opened;
  }

  get logLevel(): LogLevel | undefined {
    return this.kept?.session.logLevel;
  }

  /** The client is ready: telemetry counts the session from now until its end. */
  observe({ peer }: KeptSession): void {
    if (this.#ended) return;
    this.#end ??= startServerSession(this.#holder.rules.service, { revision: peer.revision, transport: "tcp" });
  }

  /** Receives changes from now on. */
  begin(record: KeptSession): void {
    if (this.#changes !== undefined || this.#ended) return;
    const { rules } = this.#holder;
    this.#changes = new SessionChanges({ session: this.id, rules, auth: this.#auth, record }, this);
    void this.#changes.refresh();
  }

  /** What it hears of may be different. Resolves to why it cannot hear of that. */
  async refresh(): Promise<Failure | undefined> {
    return this.#changes?.refresh();
  }

  /** Keeps what belongs to no call, and writes it to who reads that. A promise means that the client is slow. */
  send(text: string): Promise<void> | undefined {
    if (this.#ended) return undefined;
    const position = this.replay.addAside(text);
    return typeof position === "number" ? this.#holder.deliver(this.id, position, text) : undefined;
  }

  /** Counts what is kept of it until it ends, or says that there is no room. */
  takeRecord(session: KeptSession): Shortage | undefined {
    const bytes = sessionBytes(session);
    const short = this.share.take("heldBytes", bytes);
    if (short === undefined) this.#recordBytes += bytes;
    return short;
  }

  /** Counts a subscription, or says which bound was reached. */
  takeSubscription(uri: string): Shortage | undefined {
    const { share } = this;
    const bytes = subscriptionBytes(uri);
    const short = share.take("subscriptions") ?? share.take("heldBytes", bytes);
    if (short?.limit === "maxHeldBytes") share.give("subscriptions");
    if (short !== undefined) return short;
    this.#subscriptions++;
    this.#subscribedBytes += bytes;
    return undefined;
  }

  giveSubscription(uri: string): void {
    this.#giveSubscriptions(1, subscriptionBytes(uri));
  }

  #giveSubscriptions(count: number, bytes: number): void {
    this.#subscriptions -= count;
    this.#subscribedBytes -= bytes;
    this.share.give("subscriptions", count);
    this.share.give("heldBytes", bytes);
  }

  /** Idempotent. Resolves when the service has done what it wanted. */
  end(): Promise<void> | undefined {
    if (this.#ended) return undefined;
    this.share.give("sessions");
    this.share.give("heldBytes", this.#recordBytes);
    this.#giveSubscriptions(this.#subscriptions, this.#subscribedBytes);
    this.#ended = true;
    this.#end?.();
    this.#end = undefined;
    this.#changes?.close();
    this.#waiting?.clear();
    this.replay.clear();
    return endSession(this.#holder.rules.service, this.id);
  }

  changed(change: ChangeNotification): void {
    const text = this.#changes?.textOf(change);
    if (text === undefined) return;
    if (this.#waiting !== undefined) return void this.#waiting.set(subjectOf(change), text);
    const slow = this.send(text);
    if (slow !== undefined) void this.#tellRest(slow);
  }

  async #tellRest(slow: Promise<void>): Promise<void> {
    const waiting = new Map<string, string>();
    this.#waiting = waiting;
    await slow;
    for (const [subject, text] of waiting) {
      waiting.delete(subject);
      await this.send(text);
    }
    this.#waiting = undefined;
  }
}

function subjectOf({ method, params }: ChangeNotification): string {
  const what = params.uri ?? params.elicitationId;
  return typeof what === "string" ? `${method} ${what}` : method;
}
