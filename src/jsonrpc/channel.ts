import type { HttpRequestInfo } from "../std/http-request-info.ts";
import type { ErrorObject, Id, Incoming, Message } from "./message.ts";

/** A destination for messages: a channel, or one HTTP response. */
export interface Sender {
  /**
   * Writes one message. A returned promise is backpressure: await it before sending more. It never rejects; a broken
   * channel drops the message. Throws, without writing anything, when the message cannot be encoded as JSON.
   */
  send(message: Message): Promise<void> | undefined;
  /**
   * Calls `write`, which sends a response, once the peer has probably read the progress notifications sent before it:
   * some clients drop progress that they read together with the response. Absent where no delay is needed.
   */
  readonly sendAfterProgress?: ((write: () => void) => void) | undefined;
  /** Ids of the requests that were never written, so that the peer has not seen them. Absent when the channel cannot know. */
  unsent?(): Iterable<Id>;
  /** Reports that the request with this id, received through this sender, will get no response. */
  drop?(id: Id): void;
  /**
   * Closes the connection of a response stream that the client can resume, after `retryMs` milliseconds. A no-op where it
   * cannot be resumed.
   */
  closeStream?(retryMs?: number): void;
  /** Keeps the memory of the received message reserved until `release`, even after the response: it is still in use. */
  hold?(): void;
  release?(): void;
  /** The HTTP request that carried the received messages. Absent on other transports. */
  readonly http?: HttpRequestInfo | undefined;
}

/**
 * A bidirectional stream of messages.
 *
 * Iteration ends when the peer closes its end, and throws when the channel breaks. There is one reader at a time; a
 * second reader continues with the next array after the one that the first reader took.
 */
export interface Channel extends Sender {
  /** Received messages, in order. Messages that arrived in one chunk are yielded as one array. */
  readonly incoming: AsyncIterable<readonly Incoming[]>;
  /**
   * Resolves when the peer has had a turn of the event loop to read the messages sent so far. Absent where the peer reads
   * in the same turn, or where the channel cannot know.
   */
  readonly nextTurn?: (() => Promise<void>) | undefined;
  /** Replaces secrets that were passed to the peer, such as tokens in its environment, in the errors that it returns. */
  readonly mask?: ((error: ErrorObject) => ErrorObject) | undefined;
  /** Closes both directions after all sent messages are written. Idempotent; never rejects. */
  close(): Promise<void>;
}
