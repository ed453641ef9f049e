import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";

/** What a request holds, or why it cannot be had. */
export type Body =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "too-large" }
  | { readonly kind: "not-utf8" };

/**
 * Reads the body of a request and hands it over once. Not at all when the client
 * leaves before the end.
 *
 * Reads by callback: an iteration costs a third of a small request.
 */
export function readBody(request: IncomingMessage, maxBytes: number, done: (body: Body) => void): void {
  let chunks: Buffer[] | undefined;
  let first: Buffer | undefined;
  let size = 0;
  let isOver = false;

  const finish = (body: Body): void => {
    isOver = true;
    done(body);
  };

  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (isOver) return limitWaste(request, size - maxBytes);
    if (size > maxBytes) return finish({ kind: "too-large" });
    if (first === undefined) first = chunk;
    else if (chunks === undefined) chunks = [first, chunk];
    else chunks.push(chunk);
  });
  request.on("end", () => {
    if (isOver) return;
    const bytes = chunks === undefined ? first : Buffer.concat(chunks, size);
    if (bytes === undefined) finish({ kind: "text", text: "" });
    else finish(isUtf8(bytes) ? { kind: "text", text: bytes.toString("utf8") } : { kind: "not-utf8" });
  });
}

/** A client hears of a refusal only when it has sent its body; that may not go on for ever. */
export function discardBody(request: IncomingMessage): void {
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    limitWaste(request, size);
  });
}

const MAX_WASTE = 67_108_864;

function limitWaste(request: IncomingMessage, bytes: number): void {
  if (bytes > MAX_WASTE) request.destroy();
}
