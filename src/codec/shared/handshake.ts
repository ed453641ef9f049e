import { asJson, isObject, type JsonObject } from "../../json/json.ts";
import type { DiscoverResult } from "../../model/methods.ts";
import type { Decoded, Hello } from "../codec.ts";
import type { Dialect } from "./dialect.ts";
import { nobody, readClientCapabilities, readImplementation, readServerCapabilities } from "./peer.ts";
import { refuse } from "./refuse.ts";

/** Params of `initialize`. */
export function encodeHello(dialect: Dialect, { info, capabilities }: Hello): JsonObject {
  return {
    protocolVersion: dialect.revision,
    capabilities: dialect.clientCapabilities(asJson(capabilities)),
    clientInfo: dialect.implementation(asJson(info)),
  };
}

/** Reads params of `initialize`. Capabilities that the revision does not have do not count. */
export function decodeHello(dialect: Dialect, params: JsonObject): Hello {
  const stated = asJson(readClientCapabilities(params.capabilities));
  return {
    info: readImplementation(params.clientInfo) ?? nobody,
    capabilities: dialect.clientCapabilities(stated),
  };
}

/** The result of `initialize`. */
export function encodeWelcome(dialect: Dialect, server: DiscoverResult): JsonObject {
  return {
    protocolVersion: dialect.revision,
    capabilities: dialect.serverCapabilities(asJson(server.capabilities)),
    serverInfo: dialect.implementation(asJson(server.serverInfo)),
    ...(server.instructions !== undefined && { instructions: server.instructions }),
  };
}

/** Reads the result of `initialize`. Whatever version the server chose is the only one it is known to support. */
export function decodeWelcome(dialect: Dialect, result: JsonObject): Decoded<DiscoverResult> {
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
      serverInfo: readImplementation(serverInfo) ?? nobody,
      ...(typeof instructions === "string" && { instructions }),
      ...(isObject(_meta) && { _meta }),
    },
  };
}
