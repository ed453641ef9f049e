import { authOf } from "../../protocol/authenticator.ts";
import type { Ledger } from "../../protocol/budget.ts";
import type { FairGate, HttpCaller } from "./fair-gate.ts";
import type { HttpHead } from "./http-message.ts";

/** How the callers of an endpoint are identified. */
export interface CallersOptions {
  readonly ledger: Ledger;
  readonly gate: FairGate;
  /** Whether the last entry of `X-Forwarded-For` is the address of the client. */
  readonly trustProxy: boolean;
}

/** The caller on one connection. It rarely changes, and is cached. */
export class ConnectionCallers {
  /** Of which endpoint. */
  readonly endpoint: object;
  readonly #options: CallersOptions;
  #address: string | undefined;
  #byAddress: HttpCaller | undefined;
  #principal: string | undefined;
  #byPrincipal: HttpCaller | undefined;

  constructor(endpoint: object, options: CallersOptions) {
    this.endpoint = endpoint;
    this.#options = options;
  }

  /** The caller of a request: its principal, where that was found out, else its address. */
  of(head: HttpHead): HttpCaller {
    const principal = authOf(head)?.principal;
    return principal === undefined ? this.byAddress(head) : this.#known(principal);
  }

  byAddress(head: HttpHead): HttpCaller {
    const { ledger, gate, trustProxy } = this.#options;
    // A connection has one address, unless that of a proxy is looked through.
    if (this.#byAddress !== undefined && !trustProxy) return this.#byAddress;
    const address = trustProxy ? forwardedFor(head) : head.remoteAddress;
    if (this.#byAddress === undefined || address !== this.#address) {
      if (trustProxy) this.#address = address;
      this.#byAddress = gate.caller(ledger.connection(addressOwner(address)));
    }
    return this.#byAddress;
  }

  #known(principal: string): HttpCaller {
    if (this.#byPrincipal === undefined || principal !== this.#principal) {
      const { ledger, gate } = this.#options;
      this.#principal = principal;
      this.#byPrincipal = gate.caller(ledger.connection(`principal ${principal}`));
    }
    return this.#byPrincipal;
  }
}

/** The name of the share of an address. A client has a whole network of IPv6 addresses: they share. */
export function addressOwner(address: string | undefined): string {
  if (address === undefined) return "unknown address";
  const v4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return `address ${v4 ?? (address.includes(":") ? networkOf(address) : address)}`;
}

/** The first 64 bits of an IPv6 address. */
function networkOf(address: string): string {
  const [head = "", tail] = address.split("%", 1)[0]?.split("::") ?? [];
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : new Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  const groups = [...before, ...zeros, ...after].slice(0, 4);
  return `${groups.map((group) => group.toLowerCase().replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

/** The address that the nearest proxy adds for its client. */
function forwardedFor(head: HttpHead): string | undefined {
  const last = head.header("x-forwarded-for")?.split(",").at(-1)?.trim();
  if (last === undefined || last === "") return head.remoteAddress;
  return last.replace(/^\[(.*)\](?::\d+)?$/, "$1").replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
}
