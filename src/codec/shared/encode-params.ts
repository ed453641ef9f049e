import { asJson, type JsonObject } from "../../json/json.ts";
import { methodRow } from "../../model/methods.ts";
import type { CallOf } from "../../model/service.ts";
import { type Dialect, dropMeta, without } from "./dialect.ts";

/**
 * The params of a call, without what belongs to the request they came with.
 *
 * Params that were decoded in one revision and are passed on in another still
 * carry their `_meta`, and on calls that may ask also the answers, the state
 * and the task of their first hop.
 */
export function encodeParams(dialect: Dialect, call: CallOf): JsonObject {
  const plain = (methodRow(call.method).asks === true ? dropHop : dropMeta)(asJson(call.params));
  if (call.method === "completion/complete") return dialect.completion(plain);
  const lacksArguments = plain.arguments === undefined && takesArguments.has(call.method);
  return lacksArguments ? { ...plain, arguments: {} } : plain;
}

/** Absent arguments are the same as none, but many servers check what is absent against a schema that wants an object. */
const takesArguments: ReadonlySet<string> = new Set(["tools/call", "prompts/get"]);

const dropHop = without("_meta", "inputResponses", "requestState", "task");
