import type { Batch, Id, Parsed, Request } from "../../../jsonrpc/message.ts";

/** How many answers a POST is to be given. */
export function answersOf(message: Parsed): number {
  switch (message.kind) {
    case "request":
      return 1;
    case "malformed":
      return message.answerable ? 1 : 0;
    case "batch":
      return message.items.reduce((sum, item) => sum + answersOf(item), 0);
    default:
      return 0;
  }
}

/** Why a batch is refused whole, if it is. */
export function batchProblem({ items }: Batch, accepted: boolean): string | undefined {
  if (!accepted) return "batches are not supported; send one message a request";
  const greets = items.some((item) => item.kind === "request" && item.method === "initialize");
  return greets ? "initialize must not be part of a batch" : undefined;
}

/** The messages of a POST, one or many. */
export function itemsOf(message: Parsed): readonly Batch["items"][number][] {
  return message.kind === "batch" ? message.items : [message];
}

/** The request with this id among what was posted. */
export function requestIn(message: Parsed, id: Id | null): Request | undefined {
  return itemsOf(message).find((item): item is Request => item.kind === "request" && item.id === id);
}

/** True when the client says that it is ready. Some of the first days left out the prefix. */
export function saysReady(message: Parsed): boolean {
  return itemsOf(message).some(
    (item) =>
      item.kind === "notification" && (item.method === "notifications/initialized" || item.method === "initialized"),
  );
}
