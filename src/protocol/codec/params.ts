import {
  aBoolean,
  aListOf,
  anObject,
  aRecordOf,
  aString,
  byType,
  type Members,
  optional,
  type Problem,
} from "../../json/check.ts";
import { asJson, type JsonObject } from "../../json/json.ts";
import { type MethodRow, methodRow, type Params, type WireMethod } from "../methods.ts";
import { isSince, type Revision } from "../revision.ts";
import type { CallOf } from "../service.ts";
import { type Dialect, dropMeta, without } from "./dialect.ts";

/**
 * The problem with the params of a request, naming the member, or undefined.
 *
 * Params are checked and never copied, so that unknown members are kept. Params of unknown methods are not checked.
 */
export function paramsProblem(method: string, params: JsonObject): Problem {
  const problem = checks.get(method)?.(params);
  return problem === undefined ? undefined : `params${problem}`;
}

const page: Members<Params<"tools/list">> = { cursor: optional(aString) };
const aTask: Members<Params<"tasks/get">> = { taskId: aString };

const aReference = byType({
  "ref/prompt": anObject({ name: aString }),
  "ref/resource": anObject({ uri: aString }),
});

const members: { readonly [M in WireMethod]: Members<Params<M>> } = {
  "server/discover": {},
  "tools/list": page,
  "tools/call": { name: aString, arguments: optional(anObject()) },
  "resources/list": page,
  "resources/templates/list": page,
  "resources/read": { uri: aString },
  "prompts/list": page,
  "prompts/get": { name: aString, arguments: optional(aRecordOf(aString)) },
  "completion/complete": {
    ref: aReference,
    argument: anObject({ name: aString, value: aString }),
    context: optional(anObject({ arguments: optional(aRecordOf(aString)) })),
  },
  "subscriptions/listen": {
    notifications: anObject({
      toolsListChanged: optional(aBoolean),
      promptsListChanged: optional(aBoolean),
      resourcesListChanged: optional(aBoolean),
      resourceSubscriptions: optional(aListOf(aString)),
      taskIds: optional(aListOf(aString)),
      elicitationIds: optional(aListOf(aString)),
    } satisfies Members<Omit<Params<"subscriptions/listen">["notifications"], symbol>>),
  },
  "tasks/get": aTask,
  "tasks/update": { ...aTask, inputResponses: aRecordOf(anObject()) },
  "tasks/cancel": aTask,
  "tasks/list": page,
  "tasks/result": aTask,
};

const checks = new Map(Object.entries(members).map(([method, row]) => [method, anObject(row)]));

/** True unless the method is one of the protocol that this revision does not have yet, or does not have any more. */
export function isKnown(method: string, revision: Revision): boolean {
  return isIn(methodRow(method), revision);
}

/** The same, for a row that was looked up already. */
export function isIn({ since, until, inside }: MethodRow, revision: Revision): boolean {
  if (inside === true) return false;
  return (since === undefined || isSince(revision, since)) && (until === undefined || isSince(until, revision));
}

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

/** Absent arguments mean none, but many servers validate absent arguments against a schema that requires an object. */
const takesArguments: ReadonlySet<string> = new Set(["tools/call", "prompts/get"]);

const dropHop = without("_meta", "inputResponses", "requestState", "task");
