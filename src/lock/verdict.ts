import type { Tool } from "../model/tool.ts";
import { fingerprintOf } from "./fingerprint.ts";
import type { Lock } from "./lock.ts";
import { memberOf } from "./record.ts";

/** `unknown`: nobody approved a tool of that name. `changed`: what was approved is another. */
export type Verdict = "approved" | "changed" | "unknown";

/**
 * Whether a tool is as it was approved. Anything but `approved` must not be run.
 *
 * The fingerprint of a tool is made once and known by identity after that, so a
 * tool must not be changed in place.
 */
export async function verdictOf(lock: Lock, server: string, tool: Tool): Promise<Verdict> {
  const locked = memberOf(memberOf(lock.servers, server)?.tools ?? {}, tool.name);
  if (locked === undefined) return "unknown";
  return locked.fingerprint === (await fingerprintOf(tool)) ? "approved" : "changed";
}
