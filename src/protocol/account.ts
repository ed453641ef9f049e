import type { CallOrigin } from "./service.ts";

/**
 * Whose account something is that a call leaves behind: that of the principal, of the address where nobody is known,
 * else of whoever is on the other end of a channel. No principal can be named like an address.
 */
export function accountOf({ peer, http }: CallOrigin): string {
  if (peer.auth !== undefined) return `principal:${peer.auth.principal}`;
  return http?.remoteAddress === undefined ? "local" : `address:${http.remoteAddress}`;
}
