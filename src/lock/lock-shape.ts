import { isObject, type Json } from "../json/json.ts";
import { isRevision, revisions } from "../model/revision.ts";

/** What is wrong in a lock file, and where: the names that lead there. */
export interface LockFault {
  readonly path: readonly string[];
  readonly problem: string;
}

/** The first thing that is wrong with a value, if anything is. */
type Check = (value: Json | undefined, path: readonly string[]) => LockFault | undefined;

/** Looks whether `servers` of a lock file has the shape of one. Says nothing of fingerprints. */
export function faultIn(servers: Json | undefined): LockFault | undefined {
  return record(server)(servers, ["servers"]);
}

const text: Check = (value, path) => (typeof value === "string" ? undefined : { path, problem: "must be a text" });

const fingerprint: Check = (value, path) =>
  typeof value === "string" && /^sha256-[\w-]{43}$/.test(value)
    ? undefined
    : { path, problem: 'must be "sha256-" and 43 characters' };

const revision: Check = (value, path) =>
  isRevision(value) ? undefined : { path, problem: `must be one of ${revisions.join(", ")}` };

const object: Check = (value, path) => (isObject(value) ? undefined : { path, problem: "must be an object" });

function optional(check: Check): Check {
  return (value, path) => (value === undefined ? undefined : check(value, path));
}

/** An object with these members. Others are not looked at. */
function members(checks: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    if (!isObject(value)) return object(value, path);
    return first(Object.entries(checks), ([name, check]) => check(value[name], [...path, name]));
  };
}

/** An object whose members are all alike. */
function record(check: Check): Check {
  return (value, path) => {
    if (!isObject(value)) return object(value, path);
    return first(Object.entries(value), ([name, member]) => check(member, [...path, name]));
  };
}

function list(check: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return { path, problem: "must be a list" };
    return first([...value.entries()], ([index, item]) => check(item, [...path, String(index)]));
  };
}

function first<T>(items: readonly T[], faultOf: (item: T) => LockFault | undefined): LockFault | undefined {
  for (const item of items) {
    const fault = faultOf(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const target: Check = (value, path) =>
  isObject(value) && typeof (value.command ?? value.url) === "string"
    ? undefined
    : { path, problem: "must be an object with command or url" };

const definition = members({
  name: text,
  title: optional(text),
  description: optional(text),
  inputSchema: object,
  outputSchema: optional(object),
  annotations: optional(object),
});

/** The name of a tool is there twice: in front of it, and in its definition. */
const tools: Check = (value, path) =>
  record(members({ fingerprint, definition }))(value, path) ??
  first(Object.entries(value as Record<string, { definition: { name: string } }>), ([name, tool]) =>
    tool.definition.name === name
      ? undefined
      : { path: [...path, name, "definition", "name"], problem: `must be ${JSON.stringify(name)}` },
  );

const server = members({
  target: optional(target),
  revision: optional(revision),
  info: optional(members({ name: text, version: text, title: optional(text) })),
  scopes: list(text),
  instructions: optional(fingerprint),
  tools,
  prompts: optional(list(members({ name: text }))),
  resources: optional(list(members({ name: text, uri: text }))),
  resourceTemplates: optional(list(members({ name: text, uriTemplate: text }))),
});
