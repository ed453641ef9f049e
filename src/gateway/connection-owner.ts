import { canonicalText } from "../json/canonical.ts";
import { asJson } from "../json/json.ts";
import { accountOf } from "../protocol/account.ts";
import { session } from "../protocol/peer.ts";
import type { CallOf } from "../protocol/service.ts";

/** Whose a connection of a single caller is. */
export interface ConnectionOwner {
  readonly key: string;
  /** What budgets count it for. */
  readonly account: string;
  /** True where nobody knows whether two calls are of the same caller: each has the connection for itself. */
  readonly isExclusive: boolean;
  /** True for the session of a client: all its calls are of one window, one run, one chat. */
  readonly isSession: boolean;
}

/** The session of a call, or else the program of its principal that made it. */
export function connectionOwnerOf(call: CallOf): ConnectionOwner {
  const { peer, http } = call;
  const account = accountOf(call);
  const known = peer[session];
  if (known !== undefined) return { key: sessionOwnerKey(known.id), account, isExclusive: false, isSession: true };
  const { info, capabilities } = peer;
  // A token that reaches less far does not use what one that reaches further has got.
  const scopes = [...(peer.auth?.scopes ?? [])].sort();
  const key = `${account}\n${canonicalText([info?.name ?? null, asJson(capabilities), scopes])}`;
  return { key, account, isExclusive: peer.auth === undefined && http !== undefined, isSession: false };
}

/** The key of the owner that is a session. */
export function sessionOwnerKey(id: string): string {
  return `session:${id}`;
}
