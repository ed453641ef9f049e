import type { ServerEvent } from "../protocol/server-event.ts";

/**
 * Writes events as JSON, one a line: `onEvent: jsonLines(process.stderr)`. Use
 * stderr or a file; stdout belongs to the protocol on stdio.
 */
export function jsonLines(stream: { write(text: string): unknown }): (event: ServerEvent) => void {
  return (event) => void stream.write(`${JSON.stringify(event)}\n`);
}
