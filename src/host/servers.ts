import type { Target } from "../connect/target.ts";
import type { ServerSpec } from "./spec.ts";

/** Servers by name: each a target, or a target with what else is to be said of it. */
export type Servers = Readonly<Record<string, Target | ServerSpec>>;

export function toSpecs(servers: Servers): Readonly<Record<string, ServerSpec>> {
  return Object.fromEntries(Object.entries(servers).map(([name, given]) => [name, toSpec(given)]));
}

function toSpec(given: Target | ServerSpec): ServerSpec {
  return typeof given === "object" && "target" in given ? given : { target: given };
}
