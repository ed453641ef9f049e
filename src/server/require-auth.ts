import { McpError } from "../model/errors.ts";
import type { Auth } from "../model/peer.ts";
import type { Context } from "./context.ts";

/**
 * Who calls, for a handler that is of no use to nobody in particular. Throws
 * `forbidden` where nobody has found out: over HTTP that is a 401, so that clients
 * can sign in.
 *
 * @example
 * run: (_, ctx) => ordersOf(requireAuth(ctx).claims.tenant)
 */
export function requireAuth({ auth }: Pick<Context, "auth">): Auth {
  if (auth === undefined) throw new McpError("forbidden", "this is only for those who have said who they are");
  return auth;
}
