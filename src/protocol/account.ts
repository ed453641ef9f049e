import type { CallOrigin } from "./service.ts";

/**
 * The account of what a call leaves behind: that of the principal, of the remote address for an anonymous caller, else
 * of the peer of a channel. No principal can have the name of an address.
 */
export function accountOf({ peer, http }: CallOrigin): string {
  if (peer.auth !== undefined) return `principal:${peer.auth.principal}`;
  return http?.remoteAddress === undefined ? "local" : `address:${http.remoteAddress}`;
}
