import type { HttpRequestInfo } from "../std/http-facts.ts";
import type { ErrorObject, Id, Incoming, Message } from "./message.ts";

/** Where messages can be sent. */
export interface Sender {
  /**
   * Writes one message. A promise means that the peer is slow: await it before
   * sending more. It never rejects; what a broken channel cannot write is lost.
   * Throws, having written nothing, when the message is no JSON.
   */
  send(message: Message): Promise<void> | undefined;
  /**
   * Calls `write`, which sends a response, when the peer is likely to have read the progress before it: some clients drop
   * progress that they read together with the response. Absent where that does not happen.
   */
  readonly sendApart?: ((write: () => void) => void) | undefined;
  /** The requests that could not be written: the peer has not seen them. Absent where nobody can tell. */
  unsent?(): Iterable<Id>;
  /** Hears that a request that came this way will get no answer. */
  drop?(id: Id): void;
  /** Ends the connection the peer waits on, if it can come back for the rest; it should after `retryMs`. */
  closeStream?(retryMs?: number): void;
  /** Counts what came this way as held until `release`, also when it is answered: it is worked on. */
  hold?(): void;
  release?(): void;
  /** What brought the messages that came this way. */
  readonly http?: HttpRequestInfo | undefined;
}

/**
 * A two-way flow of messages.
 *
 * Reading ends when the peer is gone; a broken channel throws from the loop.
 * There is one reader at a time, and a second one goes on where the first
 * stopped: with the next array, for an array is handed over whole.
 */
export interface Channel extends Sender {
  /** What arrived, in order. Messages that came together are yielded together. */
  readonly incoming: AsyncIterable<readonly Incoming[]>;
  /** Resolves when the peer has had a turn to read what was sent. Absent where it reads in the same turn, or nobody can tell. */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /** Hides secrets that the peer was given and may repeat in its errors. */
  readonly mask?: ((error: ErrorObject) => ErrorObject) | undefined;
  /** Ends both directions, after what was sent is written. Idempotent, never rejects. */
  close(): Promise<void>;
}
