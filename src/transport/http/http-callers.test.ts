import { describe, expect, it } from "vitest";
import { AuthenticatedHttp } from "../../protocol/authenticator.ts";
import { createLedger } from "../../protocol/budget.ts";
import { createFairGate } from "./fair-gate.ts";
import { addressOwner, ConnectionCallers } from "./http-callers.ts";
import type { HttpHead } from "./http-message.ts";

function callersOf(trustProxy = false): ConnectionCallers {
  return new ConnectionCallers(
    {},
    { ledger: createLedger({}, undefined, "a test"), gate: createFairGate(), trustProxy },
  );
}

const headOf = (remoteAddress: string | undefined, forwarded?: string): HttpHead => ({
  method: "POST",
  url: "/mcp",
  remoteAddress,
  header: (name) => (name === "x-forwarded-for" ? forwarded : undefined),
});

describe("who calls", () => {
  it("is the address where nobody is identified, and remembered for a connection", () => {
    const callers = callersOf();
    const caller = callers.of(headOf("192.0.2.1"));
    expect(caller.share.owner).toBe("address 192.0.2.1");
    expect(callers.of(headOf("192.0.2.1"))).toBe(caller);
  });

  it("is the principal where that is known, which no address is called like", () => {
    const callers = callersOf();
    const known = (principal: string) => new AuthenticatedHttp(headOf("192.0.2.1"), { principal }, new Set());
    const caller = callers.of(known("ann"));
    expect(caller.share.owner).toBe("principal ann");
    expect(callers.of(known("ann"))).toBe(caller);
    expect(callers.of(known("address 192.0.2.1")).share.owner).toBe("principal address 192.0.2.1");
  });

  it.each([
    ["198.51.100.7", "address 198.51.100.7"],
    ["203.0.113.9, 198.51.100.7", "address 198.51.100.7"],
    ["198.51.100.7:4711", "address 198.51.100.7"],
    ["[2001:db8::1]:4711", "address 2001:db8:0:0::/64"],
    ["", "address 192.0.2.1"],
    [undefined, "address 192.0.2.1"],
  ])("is what a proxy says last, if it is trusted: %s", (forwarded, owner) => {
    expect(callersOf(true).of(headOf("192.0.2.1", forwarded)).share.owner).toBe(owner);
    expect(callersOf().of(headOf("192.0.2.1", forwarded)).share.owner).toBe("address 192.0.2.1");
  });

  it.each([
    ["::ffff:192.0.2.1", "address 192.0.2.1"],
    ["::1", "address 0:0:0:0::/64"],
    ["2001:db8:1:2:3:4:5:6", "address 2001:db8:1:2::/64"],
    ["2001:DB8:1:2::6", "address 2001:db8:1:2::/64"],
    ["2001:db8::1:2", "address 2001:db8:0:0::/64"],
    ["fe80::1%eth0", "address fe80:0:0:0::/64"],
    [undefined, "unknown address"],
  ])("has one share for a network of addresses: %s", (address, owner) => {
    expect(addressOwner(address)).toBe(owner);
  });
});
