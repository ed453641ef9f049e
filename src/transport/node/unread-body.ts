import type { ServerResponse } from "node:http";
import type { Heartbeat, HeartbeatListener } from "../http/heartbeat.ts";

export interface UnreadRules {
  readonly heartbeat: Heartbeat;
  /** Called when a client was cut off, with the reason. */
  dropped(reason: string): void;
}

/** Long bodies are written in pieces of this many characters, so that there is one encoded copy of one piece. */
const PIECE = 131_072;

/** Beats without reading after which a client is cut off. */
const MAX_BEATS = 2;

/**
 * A body that the system does not take at once: written as the client reads, and cut off with its connection when the
 * client reads nothing of it for three beats.
 */
export class UnreadBody implements HeartbeatListener {
  previous: HeartbeatListener | undefined = undefined;
  next: HeartbeatListener | undefined = undefined;
  readonly #response: ServerResponse;
  readonly #rules: UnreadRules;
  readonly #body: string;
  #at = 0;
  #unsent = 0;
  #beats = 0;

  /** `body` is what is yet to be written; the response is ended after it. */
  constructor(response: ServerResponse, rules: UnreadRules, body = "") {
    this.#response = response;
    this.#rules = rules;
    this.#body = body;
    response.on("drain", () => this.#write());
    response.on("close", () => rules.heartbeat.delete(this));
    if (body !== "") this.#write();
    if (!response.destroyed) rules.heartbeat.add(this);
  }

  beat(): void {
    const unsent = this.#response.socket?.writableLength ?? 0;
    const hasRead = unsent !== this.#unsent || unsent === 0;
    this.#unsent = unsent;
    if (hasRead) this.#beats = 0;
    else if (++this.#beats > MAX_BEATS) this.#cut();
  }

  #cut(): void {
    this.#rules.heartbeat.delete(this);
    this.#response.destroy();
    this.#rules.dropped("a client did not read for too long");
  }

  #write(): void {
    this.#beats = 0;
    const response = this.#response;
    while (this.#at < this.#body.length && !response.destroyed) {
      const piece = this.#next();
      if (!response.write(piece)) break;
    }
    if (this.#at >= this.#body.length && !response.writableEnded) response.end();
  }

  /** A piece that does not end within a character. */
  #next(): string {
    const end = this.#at + PIECE;
    const last = this.#body.charCodeAt(end - 1);
    const piece = this.#body.slice(this.#at, last >= 0xd800 && last <= 0xdbff ? end + 1 : end);
    this.#at += piece.length;
    return piece;
  }
}
