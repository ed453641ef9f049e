import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import { McpError } from "../protocol/errors.ts";
import { isRevision, revisions } from "../protocol/revision.ts";
import { defined } from "../std/defined.ts";
import { findPlaces, lineAndColumn, placeKey } from "./diff-lock.ts";
import { formatAsRead } from "./format-lock.ts";
import { approvedPartOf, fingerprintOf, type Lock, type LockedServer, toRecord } from "./lock.ts";

/** What one file may hold, in characters. */
export const maxLockChars = 33_554_432;
const limits = { maxJsonDepth: 100, maxJsonNodes: 4_194_304 };

/**
 * Parses the text of a lock file. `path` is for messages.
 *
 * Rejects with `invalid-config` and a message that begins with the location, `plugbay.lock:12:5: …`, when the text is
 * not a lock, has another version, has a duplicate member, or has a definition that does not match its fingerprint.
 */
export async function parseLock(text: string, path: string): Promise<Lock> {
  const bad = (at: number | undefined, problem: string): McpError => {
    const place = at === undefined ? path : `${path}:${lineAndColumn(text, at)}`;
    return new McpError("invalid-config", `${place}: ${problem}`);
  };
  const badAt = ({ path: names, problem }: LockFault): McpError =>
    bad(findPlaces(text).members.get(placeKey(names)), `${names.join(".")} ${problem}`);

  if (text.length > maxLockChars) throw bad(undefined, `a lock file has at most ${maxLockChars} characters`);
  const parsed = parseJson(text, limits);
  if (!parsed.ok) throw bad(...whyNotJson(text, parsed.reason));
  if (!isObject(parsed.value)) throw bad(0, "this is not a lock file: it must be an object");

  const { lockVersion, servers = {} } = parsed.value;
  const fault = versionFault(lockVersion) ?? faultIn(servers);
  if (fault !== undefined) throw badAt(fault);
  const lock = toLock(servers as JsonObject);
  const forged = await forgeryIn(lock);
  if (forged !== undefined) throw badAt(forged);
  const twice = duplicateIn(text, parsed.value);
  if (twice !== undefined) throw bad(twice.at, `${JSON.stringify(twice.name)} is there twice`);
  return lock;
}

function whyNotJson(text: string, reason: string): [number | undefined, string] {
  const conflict = /^(?:<{7}|>{7}) /m.exec(text);
  if (conflict !== null)
    return [conflict.index, "there is a merge conflict: take either side, then approve what is new"];
  return [findPlaces(text).fault, reason];
}

function versionFault(lockVersion: unknown): LockFault | undefined {
  if (lockVersion === 2) return undefined;
  const path = ["lockVersion"];
  if (lockVersion === 1) return { path, problem: outdated };
  const isNewer = typeof lockVersion === "number" && lockVersion > 2;
  return {
    path,
    problem: isNewer ? `${lockVersion} is of a newer plugbay: update this one to read the file` : "must be 2",
  };
}

const outdated =
  "1 is of an older plugbay, which kept neither the arguments of programs nor prompts, resources and instructions. " +
  "Approve the servers again: writeLock(path, await createLock(await host.survey())), with a host that has no lock";

/** Copies the known members of a lock. Its shape has been checked. */
function toLock(servers: JsonObject): Lock {
  const entries = Object.entries(servers as unknown as Record<string, LockedServer>);
  return { lockVersion: 2, servers: toRecord(entries.map(([name, server]) => [name, toServer(server)])) };
}

function toServer(server: LockedServer): LockedServer {
  const { target, revision, info, scopes, instructions, prompts, resources, resourceTemplates } = server;
  const tools = Object.entries(server.tools).map(
    ([name, { fingerprint, definition }]) => [name, { fingerprint, definition: approvedPartOf(definition) }] as const,
  );
  const rest = defined({ target, revision, info, scopes, instructions, prompts, resources, resourceTemplates });
  return { ...rest, tools: toRecord(tools) };
}

/** A definition that does not match its fingerprint, so that it was edited after the approval. */
async function forgeryIn({ servers }: Lock): Promise<LockFault | undefined> {
  const all = Object.entries(servers).flatMap(([server, { tools }]) =>
    Object.entries(tools).map(([name, tool]) => ({ path: ["servers", server, "tools", name], tool })),
  );
  const actual = await Promise.all(all.map(({ tool }) => fingerprintOf(tool.definition)));
  const forged = all.find(({ tool }, index) => tool.fingerprint !== actual[index]);
  const problem = "does not match its fingerprint: the file was edited by hand. Approve the tool again";
  return forged && { path: forged.path, problem };
}

/**
 * Duplicate members could hide a definition from a reader. A text that equals our own output has none, so the search is
 * skipped.
 */
function duplicateIn(text: string, value: Json): { readonly name: string; readonly at: number } | undefined {
  return formatAsRead(value) === text ? undefined : findPlaces(text).duplicate;
}

/** What is wrong in a lock file, and where: the names that lead there. */
interface LockFault {
  readonly path: readonly string[];
  readonly problem: string;
}

/** The first thing that is wrong with a value, if anything is. */
type Check = (value: Json | undefined, path: readonly string[]) => LockFault | undefined;

/** Checks the shape of `servers` in a lock file, without the fingerprints. */
function faultIn(servers: Json | undefined): LockFault | undefined {
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

const flag: Check = (value, path) =>
  typeof value === "boolean" ? undefined : { path, problem: "must be true or false" };

const program = members({
  command: text,
  file: optional(text),
  args: optional(fingerprint),
  cwd: optional(text),
  env: list(text),
  packages: optional(list(members({ spec: text, isPinned: flag }))),
  fingerprint,
});

const target: Check = (value, path) => {
  if (isObject(value) && "command" in value) return program(value, path);
  return isObject(value) && typeof value.url === "string"
    ? undefined
    : { path, problem: "must be an object with command or url" };
};

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
  instructions: optional(text),
  tools,
  prompts: optional(list(members({ name: text }))),
  resources: optional(list(members({ name: text, uri: text }))),
  resourceTemplates: optional(list(members({ name: text, uriTemplate: text }))),
});
