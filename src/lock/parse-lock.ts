import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { parseJson } from "../json/parse.ts";
import { McpError } from "../model/errors.ts";
import { defined } from "../std/defined.ts";
import { approvedPartOf, fingerprintOf } from "./fingerprint.ts";
import { formatAsRead } from "./format-lock.ts";
import { findPlaces, lineAndColumn, placeKey } from "./json-places.ts";
import type { Lock, LockedServer } from "./lock.ts";
import { faultIn, type LockFault } from "./lock-shape.ts";
import { toRecord } from "./record.ts";

/** What one file may hold, in characters. */
export const maxLockChars = 33_554_432;
const limits = { maxDepth: 100, maxWidth: 65_536 };

/**
 * Reads the text of a lock file. `path` is for messages.
 *
 * Rejects with `invalid-config` and a message that begins with the place,
 * `plugbay.lock:12:5: …`, when the text is no lock, was written by a newer
 * version, has a member twice, or has a definition that is not the one its
 * fingerprint was made of.
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
  if (!isObject(parsed.value)) throw bad(0, "this is no lock file: it must be an object");

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
  if (lockVersion === 1) return undefined;
  const isNewer = typeof lockVersion === "number" && lockVersion > 1;
  const problem = isNewer ? `${lockVersion} is of a newer plugbay: update this one to read the file` : "must be 1";
  return { path: ["lockVersion"], problem };
}

/** Takes over what a lock has and nothing else. The shape was looked at before. */
function toLock(servers: JsonObject): Lock {
  const entries = Object.entries(servers as unknown as Record<string, LockedServer>);
  return { lockVersion: 1, servers: toRecord(entries.map(([name, server]) => [name, toServer(server)])) };
}

function toServer(server: LockedServer): LockedServer {
  const { target, revision, info, scopes, instructions, prompts, resources, resourceTemplates } = server;
  const tools = Object.entries(server.tools).map(
    ([name, { fingerprint, definition }]) => [name, { fingerprint, definition: approvedPartOf(definition) }] as const,
  );
  const rest = defined({ target, revision, info, scopes, instructions, prompts, resources, resourceTemplates });
  return { ...rest, tools: toRecord(tools) };
}

/** A definition that somebody wrote into the file without approving it. */
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
 * Of two members with one name the last counts, and a reader may have looked at
 * the first. Where the text is what we would write, nothing was lost on reading,
 * and there is nothing to search for.
 */
function duplicateIn(text: string, value: Json): { readonly name: string; readonly at: number } | undefined {
  return formatAsRead(value) === text ? undefined : findPlaces(text).duplicate;
}
