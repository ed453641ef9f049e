import { encodeMessage } from "../../../jsonrpc/message.ts";
import { sseEvent } from "../../../std/sse.ts";

/** A message as the event with this id. */
export function messageFrame(id: string | undefined, text: string): string {
  return sseEvent(id === undefined ? { data: text } : { id, data: text });
}

/** An event that has an id and no message: who breaks off after it knows where to go on. */
export function primeFrame(id: string, retryMs: number): string {
  return sseEvent({ id, data: "", retry: retryMs });
}

/** Tells the client when to come back. */
export function retryFrame(ms: number): string {
  return `retry: ${ms}\n\n`;
}

/** Tells the client that events it has missed are gone. */
export const truncatedFrame: string = sseEvent({
  data: encodeMessage({ kind: "notification", method: "notifications/replay_truncated", params: {} }),
});
