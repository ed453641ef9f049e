import type { JsonObject } from "../../json/json.ts";
import { type Id, isId } from "../../jsonrpc/message.ts";
import { changeKeys, metaKeys } from "../../model/meta.ts";
import type { Decoded } from "../codec.ts";
import { type Change, without } from "./change.ts";
import { refuse } from "./refuse.ts";

/** The keys of `_meta` that came with 2026-07-28. */
export const modernKeys: readonly string[] = [
  metaKeys.protocolVersion,
  metaKeys.clientCapabilities,
  metaKeys.clientInfo,
  metaKeys.serverInfo,
  metaKeys.logLevel,
  metaKeys.subscriptionId,
];

/** The keys of `_meta` by which the parts of a server tell each other what was said when. No peer hears of them. */
export const insideKeys: readonly string[] = Object.values(changeKeys);

/** What a peer cannot mean is not heard from it. */
export const dropInside: Change = without(...insideKeys);

/** Leaves in `_meta` what is the caller's own: reserved keys are written by codecs alone, and ours stay inside. */
export const ownMeta: Change = (meta) => without(...Object.keys(meta).filter(isReserved))(meta);

function isReserved(key: string): boolean {
  return reserved.has(key);
}

const reserved: ReadonlySet<string> = new Set([...Object.values(metaKeys), ...insideKeys]);

/** The progress token of a request, with its JSON type. */
export function readProgressToken(meta: JsonObject): Decoded<Id | undefined> {
  const token = meta[metaKeys.progressToken];
  if (token === undefined || isId(token)) return { ok: true, value: token };
  return refuse("invalid-params", "params._meta.progressToken must be a string or an integer");
}
