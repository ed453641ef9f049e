import { McpError } from "../../../protocol/errors.ts";
import { reachOfAddress, reachOfHost } from "../../../std/address-reach.ts";
import type { HttpSend } from "../http-message.ts";

/** Keeps requests away from this machine and from private networks, except for hosts that are named. */
export interface AddressGuard {
  /** The same for the same hosts. */
  readonly key: string;
  /** Throws when the URL itself is not allowed. */
  check(url: URL): void;
  /** Whether a connection may go to an address that a host resolves to. */
  allows(address: string, hostname: string): boolean;
}

/** The guard for `allowPrivateNetwork` that is not `true`. */
export function addressGuard(allowed: false | readonly string[]): AddressGuard {
  const named = allowed === false ? [] : allowed.map((host) => host.toLowerCase());
  const isNamed = (hostname: string): boolean => named.includes(hostname.toLowerCase());
  return {
    key: named.toSorted().join(" "),
    check({ hostname }) {
      if (reachOfHost(hostname) !== "public" && !isNamed(hostname)) throw addressRefusal(hostname);
    },
    allows: (address, hostname) => isNamed(hostname) || reachOfAddress(address) === "public",
  };
}

/** Asks nothing of a URL that the guard does not allow, whichever way it got there. */
export function guardedSend(send: HttpSend, guard: AddressGuard): HttpSend {
  return async (request, abort) => {
    guard.check(request.url);
    return send(request, abort);
  };
}

export function addressRefusal(hostname: string): McpError {
  const message = `${hostname} is not on the public network, and allowPrivateNetwork does not name it: nothing was sent`;
  return new McpError("connection-closed", message, { data: { reason: "address-not-allowed" } });
}
