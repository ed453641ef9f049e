import type { Sender } from "../../jsonrpc/channel.ts";
import type { Id, Message, Parsed } from "../../jsonrpc/message.ts";
import { isLogLevel } from "../../model/logging.ts";
import type { HttpFacts } from "../../std/http-facts.ts";
import { itemsOf, type PostWay, requestIn } from "./post-response.ts";
import { unavailable } from "./session-rules.ts";
import type { KeptSession } from "./session-store.ts";

type Change = (session: KeptSession) => KeptSession;

/** True when an answer to what was posted has to wait until something is kept. */
export function changesSession(posted: Parsed): boolean {
  return itemsOf(posted).some((item) => item.kind === "request" && item.method === "logging/setLevel");
}

/** The way back of a POST whose requests change the session: what they changed is kept before they are answered. */
export class KeepingWay implements Sender {
  readonly http: HttpFacts;
  readonly #way: PostWay;
  readonly #posted: Parsed;
  readonly #keep: (change: Change) => Promise<void>;

  constructor(way: PostWay, posted: Parsed, keep: (change: Change) => Promise<void>) {
    this.http = way.http;
    this.#way = way;
    this.#posted = posted;
    this.#keep = keep;
  }

  send(message: Message): Promise<void> | undefined {
    const change = message.kind === "success" ? this.#changeOf(message.id) : undefined;
    return change === undefined ? this.#way.send(message) : this.#keepFirst(change, message);
  }

  drop(id: Id): void {
    this.#way.drop(id);
  }

  hangUp(retryMs?: number): void {
    this.#way.hangUp(retryMs);
  }

  async #keepFirst(change: Change, message: Message): Promise<void> {
    try {
      await this.#keep(change);
    } catch {
      return this.#way.refuse(unavailable);
    }
    await this.#way.send(message);
  }

  #changeOf(id: Id): Change | undefined {
    const request = requestIn(this.#posted, id);
    if (request?.method !== "logging/setLevel") return undefined;
    const { level } = request.params;
    return isLogLevel(level) ? (session) => ({ ...session, logLevel: level }) : undefined;
  }
}
