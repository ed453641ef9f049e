import type { JsonObject } from "../../../json/json.ts";
import { calledName, standardHeaders } from "../../../protocol/codec/headers.ts";
import { newest } from "../../../protocol/revision.ts";
import { type Headers, postHeaders } from "./http-endpoint.ts";

/**
 * The headers that every modern POST has, with those that repeat what it calls.
 *
 * They are the same whenever the same thing is called, and finding out how a
 * name has to be written costs more than looking it up, so they are kept.
 */
export function createModernHeaders(): (method: string, params: JsonObject) => Headers {
  const kept = new Map<string, Map<string | undefined, Headers>>();

  return (method, params) => {
    const name = calledName(method, params);
    const known = kept.get(method)?.get(name);
    if (known !== undefined) return known;
    const headers = { ...postHeaders, "mcp-protocol-version": newest, ...standardHeaders(method, params) };
    const row = kept.get(method) ?? put(kept, method, new Map<string | undefined, Headers>());
    return put(row, name, headers);
  };
}

/** Names may come from a model, which can invent any number of them. */
const maxKept = 1_000;

function put<K, V>(map: Map<K, V>, key: K, value: V): V {
  if (map.size >= maxKept) map.clear();
  map.set(key, value);
  return value;
}
