import { type Malformed, type Message, parseText } from "../../../jsonrpc/message.ts";
import { createSseParser, type SseItem } from "../../../std/sse.ts";
import type { IncomingResponse } from "../http-send.ts";
import { tooLarge } from "./http-errors.ts";
import { type AnswerLimits, messagesIn } from "./read-answer.ts";

/** Hears what a stream says. A promise means that no more should be read for now. */
export type TakeItems = (items: readonly SseItem[]) => Promise<void> | undefined;

/** Reads a stream of events to its end. Rejects when it breaks, or `take` throws. */
export async function readEvents(response: IncomingResponse, maxBytes: number, take: TakeItems): Promise<void> {
  const parser = createSseParser({ maxEventBytes: Number.isFinite(maxBytes) ? maxBytes : 0 });
  try {
    await response.read((chunk) => take(parser.push(chunk)));
  } finally {
    take(parser.end());
  }
}

/**
 * The messages of an event. Events of other names are none of the protocol.
 * Throws `limit-reached` for one that was too large to read.
 */
export function messagesOf(item: SseItem, { maxBytes, json }: AnswerLimits): readonly (Message | Malformed)[] {
  if (item.kind === "too-large") throw tooLarge("an event", maxBytes);
  return item.kind === "event" && item.event === "message" ? messagesIn(parseText(item.data, json)) : [];
}
