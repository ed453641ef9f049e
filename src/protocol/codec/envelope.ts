import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { cacheText } from "../../json/text.ts";
import { type Id, isId } from "../../jsonrpc/message.ts";
import { isLogLevel, type LogLevel } from "../logging.ts";
import { changeKeys, metaKeys } from "../meta.ts";
import type { ClientCapabilities, ClientInfo, Implementation, ServerCapabilities } from "../peer.ts";
import { type Revision, revisions } from "../revision.ts";
import type { CallOf } from "../service.ts";
import { type TaskTerms, tasksExtension } from "../task.ts";
import { type Decoded, type DecodeFailure, refuse, type WireCall } from "./codec.ts";
import { type Change, type Dialect, without } from "./dialect.ts";

/** What every modern request states about itself in `_meta`. */
type Envelope = Pick<WireCall, "peer" | "meta" | "progressToken" | "logLevel">;

/** Reads the `_meta` of a request in this revision. The version is judged only when nothing is missing. */
export function readEnvelope(revision: Revision, meta: Json | undefined): Decoded<Envelope> {
  if (!isObject(meta)) return refuse("invalid-params", "params._meta must be an object");
  const version = meta[metaKeys.protocolVersion];
  const capabilities = meta[metaKeys.clientCapabilities];
  const logLevel = meta[metaKeys.logLevel];
  const token = readProgressToken(meta);

  if (typeof version !== "string") return badKey(metaKeys.protocolVersion, "must be a string");
  if (!isObject(capabilities)) return badKey(metaKeys.clientCapabilities, "must be an object");
  if (version !== revision) return unsupported(version);
  if (logLevel !== undefined && !isLogLevel(logLevel)) return badKey(metaKeys.logLevel, "is not a known log level");
  if (!token.ok) return token;

  const peer = readPeer(revision, capabilities, meta[metaKeys.clientInfo]);
  return { ok: true, value: { peer, meta, progressToken: token.value, logLevel } };
}

function readPeer(revision: Revision, stated: JsonObject, program: Json | undefined): ClientInfo {
  const capabilities = readClientCapabilities(stated);
  const info = readImplementation(program);
  return info === undefined ? { revision, capabilities } : { revision, info, capabilities };
}

function badKey(key: string, problem: string): DecodeFailure {
  return refuse("invalid-params", `params._meta.${key} ${problem}`);
}

function unsupported(requested: string): DecodeFailure {
  const data = { supported: supportedRevisions, requested };
  return refuse("unsupported-revision", `unsupported protocol version ${requested}`, data);
}

/** Makes the `_meta` of a call. */
export type EnvelopeWriter = (call: CallOf, progressToken: Id | undefined) => JsonObject;

/**
 * Like {@link writeEnvelope}, for calls that mostly come from one peer: what
 * those say when they have nothing of their own to say is always the same, so it
 * is made once, with its text.
 */
export function createEnvelopeWriter(dialect: Dialect, peer: ClientInfo): EnvelopeWriter {
  let kept: { readonly logLevel: LogLevel | undefined; readonly meta: JsonObject } | undefined;

  return (call, progressToken) => {
    if (call.peer !== peer || progressToken !== undefined || !isEmpty(call.meta)) {
      return writeEnvelope(dialect, call, progressToken);
    }
    if (kept === undefined || kept.logLevel !== call.logLevel) {
      kept = { logLevel: call.logLevel, meta: cacheText(writeEnvelope(dialect, call, undefined)) };
    }
    return kept.meta;
  };
}

function isEmpty(meta: JsonObject): boolean {
  for (const _ in meta) return false;
  return true;
}

/** The `_meta` of a call: what this revision must state, and what the caller put there for itself. */
export function writeEnvelope(dialect: Dialect, call: CallOf, progressToken: Id | undefined): JsonObject {
  const { info, capabilities } = call.peer;
  const meta: Draft = {
    [metaKeys.protocolVersion]: dialect.revision,
    [metaKeys.clientCapabilities]: dialect.clientCapabilities(asJson(capabilities)),
    ...dialect.callerMeta(ownMeta(call.meta)),
  };
  if (info !== undefined) meta[metaKeys.clientInfo] = dialect.implementation(asJson(info));
  if (call.logLevel !== undefined) meta[metaKeys.logLevel] = call.logLevel;
  if (progressToken !== undefined) meta[metaKeys.progressToken] = progressToken;
  return meta;
}

/** Keys of `_meta` for messages between the parts of a server. They are never sent to a peer. */
export const internalKeys: readonly string[] = Object.values(changeKeys);

/** Internal keys are dropped from messages of a peer. */
export const dropInternal: Change = without(...internalKeys);

/**
 * Keeps the caller's own members of `_meta`: reserved keys are written by codecs only, and internal keys are not sent.
 */
export const ownMeta: Change = (meta) => without(...Object.keys(meta).filter(isReserved))(meta);

function isReserved(key: string): boolean {
  return reserved.has(key);
}

const reserved: ReadonlySet<string> = new Set([...Object.values(metaKeys), ...internalKeys]);

/** The progress token of a request, with its JSON type. */
export function readProgressToken(meta: JsonObject): Decoded<Id | undefined> {
  const token = meta[metaKeys.progressToken];
  if (token === undefined || isId(token)) return { ok: true, value: token };
  return refuse("invalid-params", "params._meta.progressToken must be a string or an integer");
}

/** The implementation of a program that did not state one. */
export const unknownProgram: Implementation = { name: "unknown", version: "" };

/** What a program says of itself, with a name and a version in any case. Undefined when it says nothing. */
export function readImplementation(value: Json | undefined): Implementation | undefined {
  if (!isObject(value)) return undefined;
  if (isImplementation(value)) return value;
  const { name, version } = value;
  return {
    ...value,
    name: typeof name === "string" ? name : unknownProgram.name,
    version: typeof version === "string" ? version : unknownProgram.version,
  };
}

function isImplementation(value: JsonObject): value is JsonObject & Implementation {
  return typeof value.name === "string" && typeof value.version === "string";
}

/** The capabilities of a client. Values that are not objects are dropped; unknown capabilities are kept. */
export function readClientCapabilities(value: Json | undefined): ClientCapabilities {
  return isObject(value) ? withoutNonObjects(value, clientFlags) : {};
}

const clientFlags: readonly (keyof ClientCapabilities)[] = [
  "experimental",
  "roots",
  "sampling",
  "elicitation",
  "extensions",
];

/** Leaves out members that are there and not objects. */
export function withoutNonObjects(value: JsonObject, flags: readonly string[]): JsonObject {
  const broken = flags.filter((flag) => value[flag] !== undefined && !isObject(value[flag]));
  return broken.length === 0 ? value : without(...broken)(value);
}

/**
 * A message in the making, on paths where every call passes.
 *
 * Its own members come first and a foreign object is spread after them: the
 * engine copies onto an object twenty times faster than it adds to a copy.
 */
export type Draft = Record<string, Json | undefined>;

/** The revisions spoken here, newest first: what servers advertise and what refusals list. */
const supportedRevisions: readonly Revision[] = [...revisions].reverse();

/** The capabilities of a server. Values that are not objects are dropped; unknown capabilities are kept. */
export function readServerCapabilities(value: Json | undefined): ServerCapabilities {
  return isObject(value) ? withoutNonObjects(value, serverFlags) : {};
}

const serverFlags: readonly (keyof ServerCapabilities)[] = [
  "experimental",
  "logging",
  "completions",
  "prompts",
  "resources",
  "tools",
  "extensions",
];

/** Of a caller that can follow a task, and leaves it to the server whether there is one. */
export const able: TaskTerms = { wanted: false };

/** Since 2026-07-28 a client says on every request whether it can follow a task, and the server decides. */
export function statedTerms({ extensions }: ClientCapabilities): TaskTerms | undefined {
  return isObject(extensions?.[tasksExtension]) ? able : undefined;
}
