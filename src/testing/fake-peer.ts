import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { encodeMessage, type Incoming, type Message } from "../jsonrpc/message.ts";
import { parseReply } from "../jsonrpc/parse-reply.ts";
import { asyncQueue } from "../std/async-queue.ts";

/**
 * The other end of a connection, driven by a test line by line.
 *
 * It speaks JSON-RPC as it is on the wire and knows nothing of MCP, so it can
 * say anything, also what no honest peer would.
 */
export interface FakePeer {
  /** What the code under test reads and writes. */
  readonly channel: Channel;
  /** Says something: messages or batches as JSON, or any text as it is. What is said together arrives together. */
  say(...messages: readonly (JsonObject | readonly Json[] | string)[]): void;
  /** Sends a notification. */
  notify(method: string, params?: JsonObject): void;
  /**
   * Sends a request under an id of its own and gives the whole response, which
   * `next` then does not. Rejects when the channel is closed instead.
   */
  request(method: string, params?: JsonObject): Promise<JsonObject>;
  /** The next thing that was said to this peer. Rejects when the channel is closed instead. */
  next(): Promise<JsonObject>;
  /** The next request or notification of this method; everything before it is skipped. */
  expect(method: string): Promise<JsonObject>;
  /** Answers a request. */
  reply(request: JsonObject, result: JsonObject): void;
  refuse(request: JsonObject, code: number, message: string, data?: Json): void;
  /** Hangs up. Can still be spoken to. */
  end(): void;
  /** Breaks the connection: reading from it throws this error. */
  fail(error: Error): void;
  /** Everything that was said to this peer so far. */
  readonly heard: readonly JsonObject[];
}

/** Creates a peer for tests. Give its `channel` to what is tested. */
export function createFakePeer(): FakePeer {
  const toThem = asyncQueue<readonly Incoming[]>();
  const toUs = createMailbox();

  const say: FakePeer["say"] = (...messages) => {
    toThem.push(messages.map((message) => parseReply(typeof message === "string" ? message : JSON.stringify(message))));
  };

  return {
    channel: {
      incoming: toThem,
      send(message: Message) {
        toUs.put(JSON.parse(encodeMessage(message)) as Json);
        return undefined;
      },
      async close() {
        toThem.end();
        toUs.close();
      },
    },
    say,
    notify: (method, params = {}) => say({ jsonrpc: "2.0", method, params }),
    request(method, params = {}) {
      const { id, response } = toUs.await();
      say({ jsonrpc: "2.0", id, method, params });
      return response;
    },
    next: toUs.next,
    async expect(method) {
      for (;;) {
        const message = await toUs.next();
        if (message.method === method) return message;
      }
    },
    reply: ({ id }, result) => say({ jsonrpc: "2.0", id, result }),
    refuse({ id }, code, message, data) {
      say({ jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } });
    },
    end: () => toThem.end(),
    fail: (error) => toThem.fail(error),
    heard: toUs.heard,
  };
}

/** What was said to the peer: responses it waits for, and everything else in order. */
interface Mailbox {
  put(message: Json): void;
  next(): Promise<JsonObject>;
  /** An id nobody has, and the response that will come with it. */
  await(): { readonly id: string; readonly response: Promise<JsonObject> };
  /** Takes nothing more in. */
  close(): void;
  readonly heard: readonly JsonObject[];
}

function createMailbox(): Mailbox {
  const heard: JsonObject[] = [];
  const rest = asyncQueue<JsonObject>();
  const reader = rest[Symbol.asyncIterator]();
  const awaited = new Map<unknown, { resolve(response: JsonObject): void; reject(error: Error): void }>();
  let asked = 0;
  let open = true;

  return {
    put(message) {
      if (!open || !isObject(message)) return;
      heard.push(message);
      const waiting = "method" in message ? undefined : awaited.get(message.id);
      awaited.delete(message.id);
      if (waiting === undefined) rest.push(message);
      else waiting.resolve(message);
    },
    async next() {
      const { done, value } = await reader.next();
      if (done) throw closedError();
      return value;
    },
    await() {
      const id = `fake-${++asked}`;
      const response = new Promise<JsonObject>((resolve, reject) => {
        if (open) awaited.set(id, { resolve, reject });
        else reject(closedError());
      });
      return { id, response };
    },
    close() {
      open = false;
      rest.end();
      for (const { reject } of awaited.values()) reject(closedError());
      awaited.clear();
    },
    heard,
  };
}

function closedError(): Error {
  return new Error("the channel was closed");
}
