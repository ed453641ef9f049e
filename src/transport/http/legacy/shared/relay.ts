import { encodeMessage, type Message, type Parsed } from "../../../../jsonrpc/message.ts";
import { itemsOf } from "../posted.ts";
import type { Node } from "./node.ts";

/** Hands on what may concern another process. Resolves when that will hear it. */
export async function relay(posted: Parsed, session: string, node: Node): Promise<void> {
  await Promise.all(
    itemsOf(posted).map((item) => (item.kind === "malformed" ? undefined : relayOne(item, session, node))),
  );
}

async function relayOne(message: Message, session: string, node: Node): Promise<void> {
  if (message.kind === "notification" && message.method === "notifications/cancelled") {
    return node.tell({ kind: "cancelled", session, params: message.params, by: node.id });
  }
  if (message.kind !== "success" && message.kind !== "failure") return;
  const asker = askerOf(message.id);
  // An answer to a process that is gone is an answer to nobody.
  if (asker === undefined || asker === node.id || !(await node.isAlive(asker))) return;
  await node.relay(asker, { session, text: encodeMessage(message) });
}

/** The process that asked a question, by the id of the question. */
function askerOf(id: unknown): string | undefined {
  return typeof id === "string" ? /^([\w-]{16})\.[\w-]{16}\.\d+$/.exec(id)?.[1] : undefined;
}
