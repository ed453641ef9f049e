import { authOf } from "../../protocol/authenticator.ts";
import type { Auth } from "../../protocol/peer.ts";
import { hasScopes } from "../../protocol/scopes.ts";
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
import { limitAnswer } from "../../transport/http/limit-answer.ts";
import type { ClusterEvent } from "./cluster.ts";
import { isLoneId, readWholeId } from "./event-frames.ts";
import { NotificationStream, type ReadersSession, readNotificationId } from "./notification-stream.ts";
import { findReplay, findWhole, type ReplayReader } from "./replay-reader.ts";

const refusals: Readonly<Record<"over" | "forbidden", HttpAnswer>> = {
  forbidden: refusal(
    403,
    "the access token lacks scopes of the one that this stream was opened with; use that one again",
  ),
  // Clients that wait for a response to a cancelled call would come back for ever; this they take for an end.
  over: refusal(405, "nothing follows this event, and nothing will", { allow: "POST, DELETE, OPTIONS" }),
};

/** The GETs of one session that this process serves. */
export class SessionReaders {
  readonly #home: ReadersSession;
  #answers: readonly ReplayReader[] = none;
  #notifications: readonly NotificationStream[] = none;
  /** GETs that are not answered yet. */
  #opening = 0;
  #over = false;

  constructor(home: ReadersSession) {
    this.#home = home;
  }

  get size(): number {
    return this.#opening + this.#answers.length + this.#notifications.length;
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

  /** One of the streams that wait for messages is over. */
  left(stream: NotificationStream): void {
    if (!this.#notifications.includes(stream)) return;
    this.#notifications = this.#notifications.filter((other) => other !== stream);
    this.#home.share.give("streams");
    this.#home.readerLeft();
  }

  told(event: ClusterEvent): void {
    if (event.kind === "taken") {
      for (const reader of this.#answers) reader.taken(event.stream, event.reader);
    } else {
      for (const stream of this.#notifications) tellStream(stream, event);
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

  /** Ends all of them. Resolves when other processes can go on telling the client. */
  async endAll(): Promise<void> {
    this.#over = true;
    for (const reader of this.#answers) reader.end();
    await Promise.all(this.#notifications.map((stream) => stream.end()));
  }

  async #find(head: HttpHead, reply: HttpReply): Promise<void> {
    const lastEventId = head.header("last-event-id");
    const last = lastEventId === undefined ? undefined : readNotificationId(lastEventId);
    const resumes = lastEventId !== undefined && last === undefined;
    const auth = authOf(head);
    const resumed = resumes ? this.#resume(lastEventId, auth, reply) : undefined;
    const isResumed = resumed instanceof Promise ? await resumed : resumed;
    if (isResumed === true) return;
    if (!hasScopes(auth, this.#home.record.peer.auth?.scopes ?? [])) return sendAnswer(reply, refusals.forbidden);
    const short = this.#home.share.take("streams");
    if (short !== undefined) return sendAnswer(reply, limitAnswer(short));
    const stream = new NotificationStream({ home: this.#home, last, lost: resumes, auth }, this);
    this.#notifications = this.#notifications.concat(stream);
    try {
      const taking = stream.take();
      if (taking !== undefined) await taking;
    } catch (error) {
      await stream.end();
      throw error;
    }
    this.#open(reply, stream);
  }

  #open(reply: HttpReply, reader: ReplayReader | NotificationStream): void {
    const { id, rules } = this.#home;
    // Who came too late comes again, and is told then.
    if (this.#over) void reader.end();
    openLiveSink(reply, rules, { "mcp-session-id": id }, reader);
  }

  /** Goes on with the response to a POST, if that is what the id stands for. */
  #resume(lastEventId: string, auth: Auth | undefined, reply: HttpReply): Awaitable<boolean> {
    if (isLoneId(lastEventId)) return this.#refuse(reply, "over");
    const whole = readWholeId(lastEventId);
    const { id: session, primes, rules } = this.#home;
    if (whole !== undefined) {
      return findWhole({ session, primes, rules, auth }, whole).then((events) => this.#replay(reply, events));
    }
    return chain(this.#findAnswers(lastEventId, auth), (answers) => {
      if (answers === "over" || answers === "forbidden") return this.#refuse(reply, answers);
      if (answers === undefined) return false;
      this.#answers = this.#answers.concat(answers);
      this.#open(reply, answers);
      return true;
    });
  }

  #refuse(reply: HttpReply, why: "over" | "forbidden"): boolean {
    sendAnswer(reply, refusals[why]);
    return true;
  }

  #replay(reply: HttpReply, found: Awaited<ReturnType<typeof findWhole>>): boolean {
    if (found === "over" || found === "forbidden") return this.#refuse(reply, found);
    if (found === undefined) return false;
    reply.send(200, { ...streamHeaders, "mcp-session-id": this.#home.id }, found.events);
    return true;
  }

  #findAnswers(
    lastEventId: string,
    auth: Auth | undefined,
  ): Awaitable<ReplayReader | "over" | "forbidden" | undefined> {
    const [, stream, after] = /^([\w-]{16})-(\d{1,15})$/.exec(lastEventId) ?? [];
    if (stream === undefined) return undefined;
    const { id: session, rules, primes } = this.#home;
    const left = (reader: ReplayReader): void => {
      this.#answers = this.#answers.filter((other) => other !== reader);
      this.#home.readerLeft();
    };
    return findReplay({ session, rules, primes, stream, after: Number(after), auth, left });
  }
}

const none: readonly never[] = [];

function tellStream(stream: NotificationStream, event: ClusterEvent): void {
  if (event.kind === "aside") stream.asides();
  else if (event.kind === "free") stream.beat();
  else if (event.kind === "moved" && event.owner === stream.owner) stream.moved();
}
