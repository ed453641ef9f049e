import type { Id, Incoming, Message } from "../../jsonrpc/message.ts";
import { parseReply } from "../../jsonrpc/parse-reply.ts";
import { McpError } from "../../protocol/errors.ts";
import type { ParseLine } from "./line-channel.ts";

/** Limits of single responses on a channel whose lines are read before their request is known. */
export interface ReplyLimits {
  /** Remembers how long the response to a request may be. */
  sent(message: Message): void;
  /** Reads a line. A response that is longer than it may be is not parsed, and its request fails. */
  readonly parse: ParseLine;
}

export function createReplyLimits(): ReplyLimits {
  const limits = new Map<Id, number>();

  const limited = (line: string): Incoming | undefined => {
    const [, text] = beginning.exec(line.slice(0, maxHead)) ?? [];
    const id: Id | undefined = text === undefined ? undefined : JSON.parse(text);
    const max = id === undefined ? undefined : limits.get(id);
    if (id === undefined || max === undefined) return undefined;
    limits.delete(id);
    return line.length <= max ? undefined : { kind: "undelivered", id, cause: tooLong(max) };
  };

  return {
    sent(message) {
      if (message.kind !== "request" || message.maxBytes === undefined) return;
      // A response that is never limited, for its id is not where it is looked for, must not be remembered for ever.
      for (const oldest of limits.keys()) if (limits.size >= maxRemembered) limits.delete(oldest);
      limits.set(message.id, message.maxBytes);
    },
    parse: (line, bounds) => (limits.size > 0 && limited(line)) || parseReply(line, bounds),
  };
}

/** Servers write the id at the beginning, as far as it is known; from one that does not, a response is read as a whole. */
const beginning = /^\{\s*(?:"jsonrpc":\s*"2\.0",\s*)?"id":\s*(\d{1,15}|"[^"\\]{0,100}")/;
const maxHead = 200;
const maxRemembered = 1_024;

function tooLong(max: number): McpError {
  const message = `the response is longer than ${max} bytes`;
  return new McpError("limit-reached", message, { data: { limit: "maxListBytes", max, scope: "call" } });
}
