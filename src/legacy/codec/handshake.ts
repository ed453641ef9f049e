import { anObject, aString, optional } from "../../json/check.ts";
import { asJson, isObject, type JsonObject } from "../../json/json.ts";
import type { Decoded } from "../../protocol/codec/codec.ts";
import { refuse } from "../../protocol/codec/codec.ts";
import type { Dialect } from "../../protocol/codec/dialect.ts";
import {
  readClientCapabilities,
  readImplementation,
  readServerCapabilities,
  unknownProgram,
} from "../../protocol/codec/envelope.ts";
import { safeIcons } from "../../protocol/codec/results.ts";
import type { DiscoverResult } from "../../protocol/methods.ts";
import type { InitializeRequest } from "./codec.ts";

/** Params of `initialize`. */
export function encodeInitializeRequest(dialect: Dialect, { info, capabilities }: InitializeRequest): JsonObject {
  return {
    protocolVersion: dialect.revision,
    capabilities: dialect.clientCapabilities(asJson(capabilities)),
    clientInfo: dialect.implementation(asJson(info)),
  };
}

/** Reads params of `initialize`, of which nothing may be missing. Capabilities that the revision does not have do not count. */
export function decodeInitializeRequest(dialect: Dialect, params: JsonObject): Decoded<InitializeRequest> {
  const problem = initializeProblem(params);
  if (problem !== undefined) return refuse("invalid-params", `params${problem}`);
  return {
    ok: true,
    value: {
      info: readImplementation(params.clientInfo) ?? unknownProgram,
      capabilities: dialect.clientCapabilities(asJson(readClientCapabilities(params.capabilities))),
    },
  };
}

const capability = optional(anObject());

const initializeProblem = anObject({
  protocolVersion: aString,
  capabilities: anObject({
    experimental: capability,
    roots: capability,
    sampling: capability,
    elicitation: capability,
    tasks: capability,
    extensions: capability,
  }),
  clientInfo: anObject({ name: aString, version: aString }),
});

/** The result of `initialize`. */
export function encodeInitializeResult(dialect: Dialect, server: DiscoverResult): JsonObject {
  return {
    protocolVersion: dialect.revision,
    capabilities: dialect.serverCapabilities(asJson(server.capabilities)),
    serverInfo: dialect.implementation(asJson(server.serverInfo)),
    ...(server.instructions !== undefined && { instructions: server.instructions }),
    ...(server._meta !== undefined && dialect.result({ _meta: server._meta })),
  };
}

/** Reads the result of `initialize`. Whatever version the server chose is the only one it is known to support. */
export function decodeInitializeResult(dialect: Dialect, result: JsonObject): Decoded<DiscoverResult> {
  if (!isObject(result)) return refuse("invalid-response", "initialize result must be an object");
  const { protocolVersion, capabilities, serverInfo, instructions, _meta } = result;
  if (typeof protocolVersion !== "string") {
    return refuse("invalid-response", "initialize result.protocolVersion must be a string");
  }
  return {
    ok: true,
    value: {
      supportedVersions: [protocolVersion],
      capabilities: dialect.impliedCapabilities(asJson(readServerCapabilities(capabilities))),
      serverInfo: readImplementation(isObject(serverInfo) ? safeIcons(serverInfo) : serverInfo) ?? unknownProgram,
      ...(typeof instructions === "string" && { instructions }),
      ...(isObject(_meta) && { _meta }),
    },
  };
}
