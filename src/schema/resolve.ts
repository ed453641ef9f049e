import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { draftOf, type Inspected, inspectTarget } from "./inspect.ts";
import { own, referenceKeys } from "./json-pointer.ts";
import { entries, token, vocabulary } from "./vocabulary.ts";

/** A plain JSON Schema in which every reference has a target. */
export interface Resolved extends Inspected {
  /** The location of every schema that is an object. */
  readonly schemas: ReadonlyMap<JsonObject, SchemaLocation>;
  /** The target of every reference, by {@link referenceKey}. */
  readonly targets: ReadonlyMap<string, Json>;
}

/** The location of a schema in its document. */
export interface SchemaLocation {
  /** `#` and a JSON Pointer. */
  readonly at: string;
  readonly resource: Resource;
  /** The draft of JSON Schema: 4, 6, 7, 2019 or 2020. */
  readonly draft: number;
}

/** A schema resource: the whole schema, or a subschema with an `$id`, which is a document of its own. */
export interface Resource {
  /** The base URI of its references. */
  readonly base: string;
  readonly root: JsonObject;
  readonly anchors: Map<string, Json>;
  /** The schemas with `$dynamicAnchor`, by anchor, and with `$recursiveAnchor`, under the empty name. */
  readonly dynamic: Map<string, JsonObject>;
}

export type Resolution =
  | { readonly ok: true; readonly value: Resolved }
  | { readonly ok: false; readonly problem: string };

/**
 * Resolves the references of a schema. Nothing is fetched: a reference to a document
 * outside the schema is a problem.
 */
export function resolveSchema(inspected: Inspected): Resolution {
  const walk: Walk = {
    ...inspected,
    schemas: new Map(),
    resources: new Map(),
    references: new Map(),
    targets: new Map(),
  };
  const { root } = inspected;
  const around: Resource = { base: "schema:/", root, anchors: new Map(), dynamic: new Map() };
  const problem = visit(walk, root, { at: "#", resource: around, draft: draftOf(root, 2020) ?? 2020 }) ?? follow(walk);
  return problem === undefined ? { ok: true, value: walk } : { ok: false, problem };
}

interface Walk extends Resolved {
  /** All members below are filled during the walk. */
  readonly schemas: Map<JsonObject, SchemaLocation>;
  /** By URI. */
  readonly resources: Map<string, Resource>;
  /** The first use of each reference, by {@link referenceKey}. */
  readonly references: Map<string, Use>;
  readonly targets: Map<string, Json>;
}

interface Use extends SchemaLocation {
  readonly schema: JsonObject;
  readonly value: string;
}

function visit(walk: Walk, schema: Json, around: SchemaLocation): string | undefined {
  if (!isObject(schema) || walk.schemas.has(schema)) return undefined;
  const { at } = around;
  const draft = draftOf(schema, around.draft) ?? around.draft;
  const resource = resourceOf(walk, schema, { at, draft, resource: around.resource });
  if (typeof resource === "string") return resource;
  const location = { at, draft, resource };
  walk.schemas.set(schema, location);
  for (const [name, value] of entries(schema)) {
    const rule = rules.get(name);
    const problem =
      rule?.(walk, { draft, resource, schema, value: String(value), at: at + token(name) }) ??
      visitBelow(walk, location, name, value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function visitBelow(walk: Walk, location: SchemaLocation, name: string, value: Json): string | undefined {
  for (const [below, schema] of vocabulary.get(name)?.subschemas(value) ?? []) {
    const { at, draft, resource } = location;
    const problem = visit(walk, schema, { at: at + token(name) + below, draft, resource });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The resource of a schema: the enclosing one, or a new one if the schema has an `$id`. A string is a problem. */
function resourceOf(walk: Walk, schema: JsonObject, { at, draft, resource }: SchemaLocation): Resource | string {
  const id = idOf(schema, draft);
  if (id === "" && walk.resources.size > 0) return resource;
  const [document] = splitUri(id);
  const base = document === "" ? resource.base : absolute(document, resource.base);
  if (base === undefined) return `${at} has an $id that is not a URI reference of at most ${maxUriLength} characters`;
  if (document === "" && walk.resources.size > 0) return resource;
  if (walk.resources.has(base)) return `${at} has an $id, ${id}, that another part of the schema has`;
  const own = { base, root: schema, anchors: new Map(), dynamic: new Map() };
  walk.resources.set(base, own);
  return own;
}

/** The id of a schema, or `""`. Up to draft 7 an id beside `$ref` is ignored. */
function idOf(schema: JsonObject, draft: number): string {
  const id = draft > 7 || schema.$ref === undefined ? schema[draft === 4 ? "id" : "$id"] : undefined;
  return typeof id === "string" ? id : "";
}

function splitUri(uri: string): readonly [document: string, fragment: string] {
  const [document = "", fragment = ""] = uri.split("#");
  return [document, fragment];
}

const maxUriLength = 1024;

function absolute(reference: string, base: string): string | undefined {
  try {
    return reference.length > maxUriLength ? undefined : new URL(reference, base).href;
  } catch {
    return undefined;
  }
}

/** The key of the target of a reference: an absolute URI, or the fragment alone for a target in the root resource. */
export function referenceKey(reference: string, { base, root }: Resource, whole: JsonObject): string {
  if (!reference.startsWith("#")) return absolute(reference, base) ?? reference;
  return root === whole ? reference : base + reference;
}

/** Records the anchor or reference that a keyword declares. Returns a problem, if there is one. */
type Rule = (walk: Walk, use: Use) => string | undefined;

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["id", idRule],
  ["$id", idRule],
  ["$ref", referenceRule],
  ["$dynamicRef", referenceRule],
  ["$recursiveRef", referenceRule],
  ["$anchor", (_, use) => addAnchor(use, use.value)],
  ["$dynamicAnchor", dynamicAnchorRule],
  ["$recursiveAnchor", recursiveAnchorRule],
]);

/** Rule of an id. Up to draft 7 its fragment is an anchor. */
function idRule(_: Walk, use: Use): string | undefined {
  const [, anchor] = splitUri(idOf(use.schema, use.draft));
  return anchor === "" ? undefined : addAnchor(use, anchor);
}

function addAnchor({ schema, at, resource: { anchors } }: Use, anchor: string): string | undefined {
  if ((anchors.get(anchor) ?? schema) !== schema) return `${at} gives the name ${anchor} to a second schema`;
  anchors.set(anchor, schema);
  return undefined;
}

function dynamicAnchorRule(_: Walk, use: Use): string | undefined {
  use.resource.dynamic.set(use.value, use.schema);
  return addAnchor(use, use.value);
}

function recursiveAnchorRule(_: Walk, { schema, value, resource: { root, dynamic } }: Use): undefined {
  if (value === "true" && schema === root) dynamic.set("", schema);
}

function referenceRule(walk: Walk, use: Use): undefined {
  const key = referenceKey(use.value, use.resource, walk.root);
  if (!walk.references.has(key)) walk.references.set(key, use);
}

/** Resolves all references. A target may lie under an unknown keyword, so it is inspected and visited now. */
function follow(walk: Walk): string | undefined {
  for (const [key, use] of walk.references) {
    const [document, fragment] = splitUri(key);
    const resource = document === "" ? walk.schemas.get(walk.root)?.resource : walk.resources.get(document);
    if (resource === undefined) {
      return `${use.at} must point into this schema, not to ${use.value}: no part of it has that $id, and nothing is fetched`;
    }
    const [target, around] = find(walk, resource, fragment) ?? [];
    if (target === undefined) return `${use.at} leads nowhere: there is no ${key}`;
    const location = { ...use, ...around, at: key };
    const isKnown = isObject(target) && walk.schemas.has(target);
    const problem = isKnown
      ? undefined
      : (inspectTarget(walk, target, key, location.draft) ?? visit(walk, target, location));
    if (problem !== undefined) return problem;
    walk.targets.set(key, target);
  }
  return undefined;
}

/** The target of a fragment in a resource, and the location of its nearest enclosing schema. */
function find(
  walk: Walk,
  { root, anchors }: Resource,
  fragment: string,
): readonly [Json, SchemaLocation | undefined] | undefined {
  let target: Json | undefined = root;
  let around = walk.schemas.get(root);
  if (fragment !== "" && !fragment.startsWith("/")) target = anchors.get(fragment);
  else {
    for (const key of referenceKeys(fragment)) {
      target = own(target, key);
      if (isObject(target)) around = walk.schemas.get(target) ?? around;
    }
  }
  return target === undefined ? undefined : [target, around];
}
