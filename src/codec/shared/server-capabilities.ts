import { isObject, type Json } from "../../json/json.ts";
import type { ServerCapabilities } from "../../model/peer.ts";
import { withoutNonObjects } from "./envelope.ts";

/** The capabilities of a server. One that is not an object does not count; unknown ones are kept. */
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
