import { encodeMessage } from "../../jsonrpc/message.ts";
import { sseEvent } from "../../std/sse.ts";

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

/** The id of an event of a response that went out whole, and is kept. */
export function wholeId(id: string, position: number): string {
  return `w-${id}-${position}`;
}

export function readWholeId(text: string): { readonly id: string; readonly after: number } | undefined {
  const [, id, after] = /^w-([\w-]{16})-(\d{1,15})$/.exec(text) ?? [];
  return id === undefined ? undefined : { id, after: Number(after) };
}

let count = 0;

/** The id of a response that is not kept, because nothing follows it and nobody can have it in part. */
export function loneId(node: string): string {
  count = (count + 1) % Number.MAX_SAFE_INTEGER;
  return `0-${node}-${count}`;
}

export function isLoneId(text: string): boolean {
  return /^0-[\w-]{16}-\d{1,16}$/.test(text);
}
