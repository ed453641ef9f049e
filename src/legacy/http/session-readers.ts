import { authOf } from "../../model/authenticator.ts";
import type { Auth } from "../../model/peer.ts";
import { openLiveSink } from "../../transport/http/event-sink.ts";
import type { HttpHead, HttpReply } from "../../transport/http/http-message.ts";
import type { Telling } from "./cluster.ts";
import { type NewsPlace, NewsStream, readNewsId } from "./notification-stream.ts";
import { findKept, type KeptReader } from "./replay-reader.ts";
import type { SharedRules } from "./session-rules.ts";
import { type KeptSession, randomName } from "./session-store.ts";

export interface SessionReadersOptions {
  readonly session: string;
  readonly rules: SharedRules;
  readonly primes: boolean;
  /** What is known of the session now. */
  kept(): KeptSession;
}

/** The GETs of one session that this process serves. */
export class SessionReaders {
  readonly #options: SessionReadersOptions;
  readonly #answers = new Set<KeptReader>();
  readonly #news = new Set<NewsStream>();
  /** GETs that are not answered yet. */
  #opening = 0;
  #over = false;

  constructor(options: SessionReadersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#opening + this.#answers.size + this.#news.size;
  }

  /** Serves a GET: the rest of the answer to a POST, or what belongs to no call. */
  async get(head: HttpHead, reply: HttpReply): Promise<"opened" | "too many" | "over"> {
    this.#opening++;
    try {
      return await this.#find(head, reply);
    } finally {
      this.#opening--;
    }
  }

  told(telling: Telling): void {
    if (telling.kind === "taken") {
      for (const reader of this.#answers) reader.taken(telling.stream, telling.reader);
    } else {
      for (const news of this.#news) tellNews(news, telling);
    }
  }

  /** What the session hears of may be different, or more. */
  refresh(): void {
    for (const news of this.#news) {
      news.refresh();
      news.asides();
    }
  }

  /** Ends all of them. Resolves when other processes can go on with the news. */
  async endAll(): Promise<void> {
    this.#over = true;
    for (const reader of this.#answers) reader.end();
    await Promise.all([...this.#news].map((news) => news.end()));
  }

  async #find(head: HttpHead, reply: HttpReply): Promise<"opened" | "too many" | "over"> {
    const lastEventId = head.header("last-event-id");
    const last = lastEventId === undefined ? undefined : readNewsId(lastEventId);
    const resumes = lastEventId !== undefined && last === undefined;
    const answers = resumes ? await this.#findAnswers(lastEventId) : undefined;
    if (answers === "over") return "over";
    if (answers !== undefined) return this.#open(reply, this.#answers, answers);
    if (this.#news.size >= this.#options.rules.maxStreams) return "too many";
    const news = this.#createNews(last, resumes, authOf(head));
    this.#news.add(news);
    try {
      await news.take();
    } catch (error) {
      await news.end();
      throw error;
    }
    return this.#open(reply, this.#news, news);
  }

  #open<T extends KeptReader | NewsStream>(reply: HttpReply, among: Set<T>, reader: T): "opened" {
    const { session, rules } = this.#options;
    among.add(reader);
    // Who came too late comes again, and is told then.
    if (this.#over) void reader.end();
    openLiveSink(reply, rules, { "mcp-session-id": session }, reader);
    return "opened";
  }

  async #findAnswers(lastEventId: string): Promise<KeptReader | "over" | undefined> {
    const [, stream, after] = /^([\w-]{16})-(\d{1,15})$/.exec(lastEventId) ?? [];
    if (stream === undefined) return undefined;
    const left = (reader: KeptReader): void => void this.#answers.delete(reader);
    return findKept({ ...this.#options, stream, after: Number(after), left });
  }

  #createNews(last: NewsPlace | undefined, lost: boolean, auth: Auth | undefined): NewsStream {
    const owner = `${this.#options.rules.node.id}.${randomName()}`;
    const left = (news: NewsStream): void => void this.#news.delete(news);
    return new NewsStream({ ...this.#options, owner, last, auth, left }, lost);
  }
}

function tellNews(news: NewsStream, telling: Telling): void {
  if (telling.kind === "aside") news.asides();
  else if (telling.kind === "free") news.beat();
  else if (telling.kind === "moved" && telling.owner === news.owner) news.moved();
}
