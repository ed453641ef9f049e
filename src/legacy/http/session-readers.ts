import { authOf } from "../../model/authenticator.ts";
import type { Auth } from "../../model/peer.ts";
import { type Awaitable, chain } from "../../std/awaitable.ts";
import { openLiveSink } from "../../transport/http/event-sink.ts";
import {
  type HttpAnswer,
  type HttpHead,
  type HttpReply,
  refusal,
  sendAnswer,
  streamHeaders,
} from "../../transport/http/http-message.ts";
import type { ClusterEvent } from "./cluster.ts";
import { isLoneId, readWholeId } from "./event-frames.ts";
import { type NotificationPlace, NotificationStream, readNotificationId } from "./notification-stream.ts";
import { findReplay, findWhole, type ReplayReader } from "./replay-reader.ts";
import type { SessionRules } from "./session-rules.ts";
import { type KeptSession, randomName } from "./session-store.ts";

export interface SessionReadersOptions {
  readonly session: string;
  readonly rules: SessionRules;
  readonly primes: boolean;
  /** What is known of the session now. */
  kept(): KeptSession;
  /** Hears that one of them is over. */
  left(): void;
}

const refusals: Readonly<Record<"too many" | "over", HttpAnswer>> = {
  "too many": refusal(429, "too many streams of this session are open", { "retry-after": "1" }),
  // Clients that wait for a response to a cancelled call would come back for ever; this they take for an end.
  over: refusal(405, "nothing follows this event, and nothing will", { allow: "POST, DELETE, OPTIONS" }),
};

/** The GETs of one session that this process serves. */
export class SessionReaders {
  readonly #options: SessionReadersOptions;
  readonly #answers = new Set<ReplayReader>();
  readonly #notifications = new Set<NotificationStream>();
  /** GETs that are not answered yet. */
  #opening = 0;
  #over = false;

  constructor(options: SessionReadersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#opening + this.#answers.size + this.#notifications.size;
  }

  /** Serves a GET: the rest of the answer to a POST, or what belongs to no call. */
  async get(head: HttpHead, reply: HttpReply): Promise<void> {
    this.#opening++;
    try {
      await this.#find(head, reply);
    } finally {
      this.#opening--;
    }
  }

  told(event: ClusterEvent): void {
    if (event.kind === "taken") {
      for (const reader of this.#answers) reader.taken(event.stream, event.reader);
    } else {
      for (const stream of this.#notifications) tellNotifications(stream, event);
    }
  }

  /** A message was kept that belongs to no call. A promise means that its client is slow. */
  aside(position: number, text: string): Promise<void> | undefined {
    for (const stream of this.#notifications) {
      const slow = stream.aside(position, text);
      if (slow !== undefined) return slow;
    }
    return undefined;
  }

  /** What the session hears of may be different, or more. */
  refresh(): void {
    for (const stream of this.#notifications) {
      stream.refresh();
      stream.asides();
    }
  }

  /** Ends all of them. Resolves when other processes can go on with the news. */
  async endAll(): Promise<void> {
    this.#over = true;
    for (const reader of this.#answers) reader.end();
    await Promise.all([...this.#notifications].map((news) => news.end()));
  }

  async #find(head: HttpHead, reply: HttpReply): Promise<void> {
    const lastEventId = head.header("last-event-id");
    const last = lastEventId === undefined ? undefined : readNotificationId(lastEventId);
    const resumes = lastEventId !== undefined && last === undefined;
    const resumed = resumes ? this.#resume(lastEventId, reply) : undefined;
    const isResumed = resumed instanceof Promise ? await resumed : resumed;
    if (isResumed === true) return;
    if (this.#notifications.size >= this.#options.rules.maxStreams) return sendAnswer(reply, refusals["too many"]);
    const news = this.#createNews(last, resumes, authOf(head));
    this.#notifications.add(news);
    try {
      const taking = news.take();
      if (taking !== undefined) await taking;
    } catch (error) {
      await news.end();
      throw error;
    }
    this.#open(reply, this.#notifications, news);
  }

  #open<T extends ReplayReader | NotificationStream>(reply: HttpReply, among: Set<T>, reader: T): void {
    const { session, rules } = this.#options;
    among.add(reader);
    // Who came too late comes again, and is told then.
    if (this.#over) void reader.end();
    openLiveSink(reply, rules, { "mcp-session-id": session }, reader);
  }

  /** Goes on with the response to a POST, if that is what the id stands for. */
  #resume(lastEventId: string, reply: HttpReply): Awaitable<boolean> {
    if (isLoneId(lastEventId)) return this.#refuse(reply);
    const whole = readWholeId(lastEventId);
    if (whole !== undefined) return findWhole(this.#options, whole).then((events) => this.#replay(reply, events));
    return chain(this.#findAnswers(lastEventId), (answers) => {
      if (answers === "over") return this.#refuse(reply);
      if (answers !== undefined) this.#open(reply, this.#answers, answers);
      return answers !== undefined;
    });
  }

  #refuse(reply: HttpReply): boolean {
    sendAnswer(reply, refusals.over);
    return true;
  }

  #replay(reply: HttpReply, events: string | "over" | undefined): boolean {
    if (events === "over") return this.#refuse(reply);
    if (events === undefined) return false;
    reply.send(200, { ...streamHeaders, "mcp-session-id": this.#options.session }, events);
    return true;
  }

  #findAnswers(lastEventId: string): Awaitable<ReplayReader | "over" | undefined> {
    const [, stream, after] = /^([\w-]{16})-(\d{1,15})$/.exec(lastEventId) ?? [];
    if (stream === undefined) return undefined;
    const left = (reader: ReplayReader): void => {
      this.#answers.delete(reader);
      this.#options.left();
    };
    return findReplay({ ...this.#options, stream, after: Number(after), left });
  }

  #createNews(last: NotificationPlace | undefined, lost: boolean, auth: Auth | undefined): NotificationStream {
    const owner = `${this.#options.rules.node.id}.${randomName()}`;
    const left = (stream: NotificationStream): void => {
      this.#notifications.delete(stream);
      this.#options.left();
    };
    return new NotificationStream({ ...this.#options, owner, last, auth, left }, lost);
  }
}

function tellNotifications(news: NotificationStream, event: ClusterEvent): void {
  if (event.kind === "aside") news.asides();
  else if (event.kind === "free") news.beat();
  else if (event.kind === "moved" && event.owner === news.owner) news.moved();
}
