import { asJson, type JsonObject } from "../../json/json.ts";
import { methodRow } from "../../model/methods.ts";
import type { Call } from "../../model/service.ts";
import { dropMeta, without } from "./change.ts";
import type { Dialect } from "./dialect.ts";

/**
 * The params of a call, without what belongs to the request they came with.
 *
 * Params that were decoded in one revision and are passed on in another still
 * carry their `_meta`, and on calls that may ask also the answers, the state
 * and the task of their first hop.
 */
export function encodeParams(dialect: Dialect, call: Call): JsonObject {
  const plain = (methodRow(call.method).asks === true ? dropHop : dropMeta)(asJson(call.params));
  return call.method === "completion/complete" ? dialect.completion(plain) : plain;
}

const dropHop = without("_meta", "inputResponses", "requestState", "task");
