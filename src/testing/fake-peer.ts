import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { encodeMessage, type Incoming, type Message, parseText } from "../jsonrpc/message.ts";
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
  /** Says something: a message as JSON, or any text as it is. */
  say(message: JsonObject | readonly Json[] | string): void;
  /** The next thing that was said to this peer. Rejects when the channel is closed instead. */
  next(): Promise<JsonObject>;
  /** The next request or notification of this method; everything before it is skipped. */
  expect(method: string): Promise<JsonObject>;
  /** Answers a request. */
  reply(request: JsonObject, result: JsonObject): void;
  refuse(request: JsonObject, code: number, message: string, data?: Json): void;
  /** Hangs up. */
  end(): void;
  /** Everything that was said to this peer so far. */
  readonly heard: readonly JsonObject[];
}

/** Creates a peer for tests. Give its `channel` to what is tested. */
export function createFakePeer(): FakePeer {
  const toThem = asyncQueue<readonly Incoming[]>();
  const toUs = asyncQueue<JsonObject>();
  const reader = toUs[Symbol.asyncIterator]();
  const heard: JsonObject[] = [];

  const say = (message: unknown): void => {
    toThem.push([parseText(typeof message === "string" ? message : JSON.stringify(message))]);
  };

  const next = async (): Promise<JsonObject> => {
    const { done, value } = await reader.next();
    if (done) throw new Error("the channel was closed");
    return value;
  };

  return {
    channel: {
      incoming: toThem,
      send(message: Message) {
        const wire = JSON.parse(encodeMessage(message)) as Json;
        if (!isObject(wire)) return undefined;
        heard.push(wire);
        toUs.push(wire);
        return undefined;
      },
      async close() {
        toThem.end();
        toUs.end();
      },
    },
    say,
    next,
    async expect(method) {
      for (;;) {
        const message = await next();
        if (message.method === method) return message;
      }
    },
    reply: ({ id }, result) => say({ jsonrpc: "2.0", id, result }),
    refuse({ id }, code, message, data) {
      say({ jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } });
    },
    end: () => toThem.end(),
    heard,
  };
}
