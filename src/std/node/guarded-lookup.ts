import { lookup as resolve } from "node:dns";
import type { LookupFunction } from "node:net";

/**
 * Resolves the name of a host to those of its addresses that are allowed, so
 * that a connection goes to an address that was checked. Fails with what
 * `refusal` makes of the name when there are none.
 */
export function guardedLookup(
  allows: (address: string, hostname: string) => boolean,
  refusal: (hostname: string) => Error,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, "");
      const allowed = found.filter(({ address }) => allows(address, hostname));
      const [first] = allowed;
      if (first === undefined) return callback(refusal(hostname), "");
      return options.all === true ? callback(null, allowed) : callback(null, first.address, first.family);
    });
  };
}
