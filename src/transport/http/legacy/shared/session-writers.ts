import type { Parsed } from "../../../../jsonrpc/message.ts";
import type { AnswerStream } from "../post-way.ts";
import { itemsOf } from "../posted.ts";
import { KeptStream } from "./kept-stream.ts";
import { randomName } from "./random-name.ts";
import type { SharedRules } from "./shared-rules.ts";

/** The answers of one session that this process writes as events. */
export class SessionWriters {
  readonly #session: string;
  readonly #rules: SharedRules;
  readonly #streams = new Map<string, KeptStream>();
  #check = (): void => {};

  constructor(session: string, rules: SharedRules) {
    this.#session = session;
    this.#rules = rules;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** A stream for the answers to what was posted. */
  create(posted: Parsed, primes: boolean): AnswerStream {
    const id = randomName();
    const ids = itemsOf(posted).flatMap((item) => (item.kind === "request" ? [item.id] : []));
    const over = (): void => {
      this.#streams.delete(id);
      this.#check();
    };
    const stream = new KeptStream({ session: this.#session, id, ids, primes, rules: this.#rules, over });
    this.#streams.set(id, stream);
    return stream;
  }

  /** Somebody reads a stream now. */
  taken(stream: string): void {
    this.#streams.get(stream)?.taken();
  }

  /** Something else was answered. */
  answered(): void {
    this.#check();
  }

  /** Resolves when all is kept and written, and nothing else waits for an answer; or when that takes too long. */
  quiet(waits: () => boolean): Promise<void> {
    const { clock, drainMs } = this.#rules;
    return new Promise((resolve) => {
      const stop = clock.after(drainMs, resolve);
      this.#check = () => {
        if (this.size > 0 || waits()) return;
        stop();
        resolve();
      };
      this.#check();
    });
  }
}
