import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import type { ClientCapabilities, Implementation, ServerCapabilities } from "../../model/peer.ts";
import { without } from "./change.ts";

/** Stands for a program that did not say who it is. */
export const nobody: Implementation = { name: "unknown", version: "" };

/** What a program says of itself, with a name and a version in any case. Undefined when it says nothing. */
export function readImplementation(value: Json | undefined): Implementation | undefined {
  if (!isObject(value)) return undefined;
  if (isImplementation(value)) return value;
  const { name, version } = value;
  return {
    ...value,
    name: typeof name === "string" ? name : nobody.name,
    version: typeof version === "string" ? version : nobody.version,
  };
}

function isImplementation(value: JsonObject): value is JsonObject & Implementation {
  return typeof value.name === "string" && typeof value.version === "string";
}

/** The capabilities of a client. One that is not an object does not count; unknown ones are kept. */
export function readClientCapabilities(value: Json | undefined): ClientCapabilities {
  return isObject(value) ? withoutNonObjects(value, clientFlags) : {};
}

/** The capabilities of a server. One that is not an object does not count; unknown ones are kept. */
export function readServerCapabilities(value: Json | undefined): ServerCapabilities {
  return isObject(value) ? withoutNonObjects(value, serverFlags) : {};
}

const clientFlags: readonly (keyof ClientCapabilities)[] = [
  "experimental",
  "roots",
  "sampling",
  "elicitation",
  "extensions",
];

const serverFlags: readonly (keyof ServerCapabilities)[] = [
  "experimental",
  "logging",
  "completions",
  "prompts",
  "resources",
  "tools",
  "extensions",
];

function withoutNonObjects(value: JsonObject, flags: readonly string[]): JsonObject {
  const broken = flags.filter((flag) => value[flag] !== undefined && !isObject(value[flag]));
  return broken.length === 0 ? value : without(...broken)(value);
}
