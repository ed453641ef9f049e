import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { own, referenceKeys } from "../schema/json-pointer.ts";
import { token } from "../schema/vocabulary.ts";
import { quote } from "../std/text.ts";

/** A value of a document, and where it is: references in it are relative to its document. */
export interface Located {
  readonly value: Json | undefined;
  /** The URI of the document. Empty for one that came without. */
  readonly document: string;
  /** A JSON Pointer. */
  readonly at: string;
}

/** All documents that take part, by their URIs. */
export type Documents = ReadonlyMap<string, Json>;

/** A problem of one operation, which is left out for it. */
export class OperationProblem extends Error {}

/** How many references may lead to each other. */
const MAX_HOPS = 32;

/** A member of a value. Its own references are not followed. */
export function member({ value, document, at }: Located, key: string): Located {
  return { value: own(value, key), document, at: at + token(key) };
}

/** Members of an object, or items of an array, by their names. Empty for everything else. */
export function members(located: Located): readonly (readonly [name: string, member: Located])[] {
  const { value } = located;
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).map((key) => [key, member(located, key)] as const);
}

/** The object of a located value. An empty one where it is something else. */
export function objectAt({ value }: Located): JsonObject {
  return isObject(value) ? value : {};
}

/** What a value stands for: itself, or what its `$ref` leads to, as often as it takes. */
export function followed(located: Located, documents: Documents): Located {
  let current = located;
  for (let hop = 0; hop <= MAX_HOPS; hop++) {
    const reference = objectAt(current).$ref;
    if (typeof reference !== "string") return current;
    current = targetOf(reference, current, documents);
  }
  throw new OperationProblem(`the references at ${located.at} lead in a circle, or through more than ${MAX_HOPS}`);
}

/** What a reference leads to. Throws {@link OperationProblem} when there is nothing. */
export function targetOf(reference: string, from: Located, documents: Documents): Located {
  const [, fragment = ""] = reference.split("#");
  const document = documentOf(reference, from.document);
  const root = documents.get(document);
  if (root === undefined) throw notLoaded(reference, from);
  let current: Located = { value: root, document, at: "" };
  if (fragment !== "" && !fragment.startsWith("/")) throw leadsNowhere(reference, from);
  for (const key of referenceKeys(fragment)) current = member(current, key);
  if (current.value === undefined) throw leadsNowhere(reference, from);
  return current;
}

/** The URI of the document that a reference leads to. */
export function documentOf(reference: string, from: string): string {
  const [path = ""] = reference.split("#");
  if (path === "") return from;
  if (!URL.canParse(path, from === "" ? undefined : from)) return path;
  return new URL(path, from === "" ? undefined : from).href;
}

/** The error of a reference that leads out of what was loaded: the whole document is refused. */
function notLoaded(reference: string, { at }: Located): McpError {
  const remedy = "put what it leads to into the document, or set allowRemoteReferences";
  return new McpError(
    "invalid-definition",
    `the reference ${quote(reference)} at #${at} leads out of the OpenAPI document: ${remedy}`,
  );
}

function leadsNowhere(reference: string, { at }: Located): OperationProblem {
  return new OperationProblem(`the reference ${quote(reference)} at #${at} leads nowhere`);
}
