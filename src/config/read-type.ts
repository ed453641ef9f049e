import { claim, type Draft, refuse } from "./draft.ts";
import { shownName } from "./problem.ts";
import { fact, wrongKind } from "./read-values.ts";
import { maskText } from "./secrets.ts";
import type { ConfigNode } from "./tree.ts";

type ServerType = NonNullable<Draft["type"]>["is"];

/** Reads `type` or `transport`, in any way it is spelled. */
export function readType(draft: Draft, node: ConfigNode, field: string): void {
  if (!claim(draft, "type", field, node.at)) return;
  if (node.kind !== "text") return void wrongKind(draft, node, field, "text");
  const letters = node.text.toLowerCase().replaceAll(/[^a-z]/g, "");
  const is = types.get(letters);
  fact(draft, node, field, node.text);
  if (is !== undefined) {
    draft.type = { is, at: node.at };
    return;
  }
  const reason = unserved.get(letters);
  const said = `${field} is ${shownName(maskText(node.text))}`;
  const message = reason === undefined ? `${said}, which is not known` : `${said}: ${reason}`;
  refuse(draft, { at: node.at, field, message, hint: "known are stdio, http and sse" });
}

const types: ReadonlyMap<string, ServerType> = new Map<string, ServerType>([
  ["stdio", "stdio"],
  ["local", "stdio"],
  ["command", "stdio"],
  ["process", "stdio"],
  ["http", "http"],
  ["https", "http"],
  ["streamable", "http"],
  ["streamablehttp", "http"],
  ["httpstream", "http"],
  ["sse", "sse"],
  ["httpsse", "sse"],
  ["remote", "remote"],
  ["url", "remote"],
]);

/** What exists, but not outside of the program the file is for. */
const unserved: ReadonlyMap<string, string> = new Map([
  ["ws", "there is no WebSocket transport"],
  ["websocket", "there is no WebSocket transport"],
  ["builtin", "that is a part of Goose itself"],
  ["platform", "that is a part of Goose itself"],
  ["frontend", "its tools are in the window of Goose"],
  ["inlinepython", "its code would have to be run by Goose"],
  ["sdk", "that lives in the program that the file is for"],
  ["inmemory", "that lives in the program that the file is for"],
  ["docker", "an image is no command; write docker as the command, with run -i --rm and the image as args"],
]);
