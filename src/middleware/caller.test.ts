import { describe, expect, it } from "vitest";
import { makeCall, peer } from "../../test/support/direct.ts";
import type { HttpRequestInfo } from "../std/http-request-info.ts";
import { createCallerNames } from "./rate-limit.ts";

const from = (remoteAddress?: string): HttpRequestInfo => ({
  method: "POST",
  url: "/mcp",
  header: () => undefined,
  remoteAddress,
});
const call = (http?: HttpRequestInfo, principal?: string) =>
  makeCall(
    "tools/call",
    { name: "a" },
    {
      http,
      peer: { ...peer(), ...(principal !== undefined && { auth: { principal } }) },
    },
  ).call;

describe("the name of a caller", () => {
  const [name, other] = [createCallerNames(), createCallerNames()];

  it("is the user, wherever the call comes from", () => {
    expect(name(call(from("10.0.0.1"), "ann"))).toBe(name(call(from("10.0.0.2"), "ann")));
    expect(name(call(undefined, "ann"))).toBe(other(call(undefined, "ann")));
    expect(name(call(from("10.0.0.1"), "ann"))).not.toBe(name(call(from("10.0.0.1"), "bob")));
  });

  it("is the address of who is not known, and no user has the same", () => {
    expect(name(call(from("10.0.0.1")))).toBe(other(call(from("10.0.0.1"))));
    expect(name(call(from("10.0.0.1")))).not.toBe(name(call(from("10.0.0.2"))));
    expect(name(call(from("10.0.0.1")))).not.toBe(name(call(undefined, "10.0.0.1")));
  });

  it("is one for all of a process where there is no network, and one for all where no address is known", () => {
    expect(name(call())).toBe(name(call()));
    expect(name(call())).not.toBe(other(call()));
    expect(name(call(from()))).toBe(other(call(from())));
  });
});
