import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { Id } from "../../jsonrpc/message.ts";
import { isLogLevel } from "../../model/logging.ts";
import { metaKeys } from "../../model/meta.ts";
import type { Revision } from "../../model/revision.ts";
import type { Call } from "../../model/service.ts";
import type { Decoded, WireCall } from "../codec.ts";
import { supportedRevisions } from "../supported.ts";
import type { Dialect } from "./dialect.ts";
import { ownMeta, readProgressToken } from "./meta.ts";
import { readClientCapabilities, readImplementation } from "./peer.ts";
import { type Refusal, refuse } from "./refuse.ts";

/** What every modern request states about itself in `_meta`. */
export type Envelope = Pick<WireCall, "peer" | "meta" | "progressToken" | "logLevel">;

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

  const info = readImplementation(meta[metaKeys.clientInfo]);
  const stated = { revision, capabilities: readClientCapabilities(capabilities) };
  const peer = info === undefined ? stated : { ...stated, info };
  return { ok: true, value: { peer, meta, progressToken: token.value, logLevel } };
}

function badKey(key: string, problem: string): Refusal {
  return refuse("invalid-params", `params._meta.${key} ${problem}`);
}

function unsupported(requested: string): Refusal {
  const data = { supported: supportedRevisions, requested };
  return refuse("unsupported-revision", `unsupported protocol version ${requested}`, data);
}

/** The `_meta` of a call: what the caller put there for itself, and what this revision must state. */
export function writeEnvelope(dialect: Dialect, call: Call, progressToken: Id | undefined): JsonObject {
  const { info, capabilities } = call.peer;
  return {
    ...dialect.callerMeta(ownMeta(call.meta)),
    [metaKeys.protocolVersion]: dialect.revision,
    [metaKeys.clientCapabilities]: dialect.clientCapabilities(asJson(capabilities)),
    ...(info !== undefined && { [metaKeys.clientInfo]: dialect.implementation(asJson(info)) }),
    ...(call.logLevel !== undefined && { [metaKeys.logLevel]: call.logLevel }),
    ...(progressToken !== undefined && { [metaKeys.progressToken]: progressToken }),
  };
}
