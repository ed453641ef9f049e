import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { keepText } from "../../json/text.ts";
import type { Id } from "../../jsonrpc/message.ts";
import { isLogLevel, type LogLevel } from "../../model/logging.ts";
import { metaKeys } from "../../model/meta.ts";
import type { Peer } from "../../model/peer.ts";
import type { Revision } from "../../model/revision.ts";
import type { Call } from "../../model/service.ts";
import type { Decoded, WireCall } from "../codec.ts";
import { supportedRevisions } from "../supported.ts";
import type { Dialect } from "./dialect.ts";
import type { Draft } from "./draft.ts";
import { ownMeta, readProgressToken } from "./meta.ts";
import { readClientCapabilities, readImplementation } from "./peer.ts";
import { type Refusal, refuse } from "./refuse.ts";

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
  if (logLevel !== undefined && !isLogLevel(logLevel)) return badKey(metaKeys.logLevel, "is no known log level");
  if (!token.ok) return token;

  const peer = readPeer(revision, capabilities, meta[metaKeys.clientInfo]);
  return { ok: true, value: { peer, meta, progressToken: token.value, logLevel } };
}

function readPeer(revision: Revision, stated: JsonObject, program: Json | undefined): Peer {
  const capabilities = readClientCapabilities(stated);
  const info = readImplementation(program);
  return info === undefined ? { revision, capabilities } : { revision, info, capabilities };
}

function badKey(key: string, problem: string): Refusal {
  return refuse("invalid-params", `params._meta.${key} ${problem}`);
}

function unsupported(requested: string): Refusal {
  const data = { supported: supportedRevisions, requested };
  return refuse("unsupported-revision", `unsupported protocol version ${requested}`, data);
}

/** Makes the `_meta` of a call. */
export type EnvelopeWriter = (call: Call, progressToken: Id | undefined) => JsonObject;

/**
 * Like {@link writeEnvelope}, for calls that mostly come from one peer: what
 * those say when they have nothing of their own to say is always the same, so it
 * is made once, with its text.
 */
export function createEnvelopeWriter(dialect: Dialect, peer: Peer): EnvelopeWriter {
  let kept: { readonly logLevel: LogLevel | undefined; readonly meta: JsonObject } | undefined;

  return (call, progressToken) => {
    if (call.peer !== peer || progressToken !== undefined || !isEmpty(call.meta)) {
      return writeEnvelope(dialect, call, progressToken);
    }
    if (kept === undefined || kept.logLevel !== call.logLevel) {
      kept = { logLevel: call.logLevel, meta: keepText(writeEnvelope(dialect, call, undefined)) };
    }
    return kept.meta;
  };
}

function isEmpty(meta: JsonObject): boolean {
  for (const _ in meta) return false;
  return true;
}

/** The `_meta` of a call: what this revision must state, and what the caller put there for itself. */
export function writeEnvelope(dialect: Dialect, call: Call, progressToken: Id | undefined): JsonObject {
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
