import { isObject } from "../json/json.ts";
import type { Failure } from "../model/errors.ts";
import type { Implementation } from "../model/peer.ts";
import type { Revision } from "../model/revision.ts";
import { hintFor } from "./hint.ts";
import type { Missing } from "./host-tool.ts";
import type { MemberState } from "./member-state.ts";
import type { Seat } from "./seat.ts";

/** How a server of a host stands, as plain data. */
export interface ServerStatus {
  readonly name: string;
  readonly state: MemberState["kind"];
  /** What it speaks, and what it says of itself, while it is ready. */
  readonly revision?: Revision;
  readonly info?: Implementation;
  /** Why it is `down` or `off`. */
  readonly reason?: Failure;
  /** What to do about it, where that is known. */
  readonly hint?: string;
  /** The last words of a program that ended. */
  readonly stderr?: string;
  /** When it is tried again. */
  readonly retryInMs?: number;
  /** True when it failed so often that it is only tried when needed. */
  readonly isLooping?: boolean;
}

export function statusOf({ name, member }: Seat, now: number): ServerStatus {
  const { state, line } = member;
  const status = { name, state: state.kind };
  if (line !== undefined) return { ...status, revision: line.client.revision, info: line.client.server.serverInfo };
  if (state.kind !== "down" && state.kind !== "off") return status;
  const { reason } = state;
  return {
    ...status,
    ...reasonOf(reason),
    ...stderrOf(reason),
    ...(state.kind === "down" && {
      retryInMs: Math.max(0, Math.ceil(state.retryAt - now)),
      isLooping: state.isLooping,
    }),
  };
}

/** Why a server is missing from a list. */
export function missing(server: string, reason: Failure): Missing {
  return { server, ...reasonOf(reason) };
}

function reasonOf(reason: Failure): { readonly reason: Failure; readonly hint?: string } {
  const hint = hintFor(reason);
  return { reason, ...(hint !== undefined && { hint }) };
}

function stderrOf({ data }: Failure): { readonly stderr?: string } {
  return isObject(data) && typeof data.stderr === "string" ? { stderr: data.stderr } : {};
}
