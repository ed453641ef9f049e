import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHostCheck, isLoopback, loopbackHosts, parseAuthority } from "./allowed-hosts.ts";

describe("parseAuthority", () => {
  it.each([
    ["localhost", "localhost", undefined],
    ["LocalHost.:3000", "localhost", 3000],
    ["my_service:080", "my_service", 80],
    ["a-1.example.", "a-1.example", undefined],
    ["127.0.0.1:65535", "127.0.0.1", 65_535],
    ["[::1]", "[::1]", undefined],
    ["[0:0:0:0:0:0:0:1]:80", "[::1]", 80],
    ["[FE80::A]:1", "[fe80::a]", 1],
  ])("reads %s", (text, name, port) => {
    expect(parseAuthority(text)).toEqual({ name, port });
  });

  const malformed = ["", ".", "a..b", ".a", "a:", ":80", "a:x", "a:65536", "a:1:2", "a:-1", "a b", "a,b", "a, a"];
  const disguised = ["u@a", "a/", "a?b", "a#b", "a\\b", "a%2e", "é.example", "a\u0000", "a\n", "http://a"];
  const ipv6 = ["::1", "[]", "[::1", "::1]", "[::1].", "[:::1]", "[::1%25lo]", "[1.2.3.4]", "[g::1]", "a[::1]"];

  it.each([...malformed, ...disguised, ...ipv6])("refuses %j", (text) => {
    expect(parseAuthority(text)).toBeUndefined();
  });
});

describe("isLoopback", () => {
  it.each(["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "127.255.255.255", "::1", "[::1]", "0:0:0:0:0:0:0:1"])(
    "C95: %s is",
    (host) => expect(isLoopback(host)).toBe(true),
  );

  const others = ["", "0.0.0.0", "::", "[::]", "10.0.0.1", "126.0.0.1", "128.0.0.1", "::2", "::ffff:10.0.0.1"];
  const lookalikes = ["127.evil.example", "127.0.0.1.evil.example", "127.0.0.256", "127.0.0", "localhost.example"];

  it.each([...others, ...lookalikes])("C95: %j is not", (host) => expect(isLoopback(host)).toBe(false));
});

describe("createHostCheck", () => {
  const check = createHostCheck([...loopbackHosts, "Mcp.Example.", "api.example:8443", "web.example:443", "fd00::1"]);

  it.each([
    "localhost",
    "localhost:3000",
    "LOCALHOST:1",
    "localhost.",
    "127.0.0.1:8080",
    "[::1]:8080",
    "[0::1]",
    "mcp.example",
    "mcp.example:9",
    "api.example:8443",
    "API.example.:8443",
    "web.example",
    "web.example:443",
    "[fd00:0::1]:5",
  ])("C98: lets %s pass, again and again", (host) => {
    for (let times = 0; times < 3; times++) expect(check(host)).toBeUndefined();
  });

  it.each([
    "evil.example",
    "localhost.evil.example",
    "localhost-evil.example",
    "evil.localhost",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "0.0.0.0",
    "[::2]",
    "mcp.example.evil.example",
    "xmcp.example",
    "api.example",
    "api.example:443",
    "api.example:84430",
    "web.example:80",
    "web.example:444",
  ])("C98: refuses %s, whatever passed before", (host) => {
    const problem = /is (not allowed; list it in allowedHosts|malformed; .+)$/;
    for (let times = 0; times < 3; times++) {
      expect(check("localhost")).toBeUndefined();
      expect(check(host)).toMatch(problem);
      expect(check(host)).toMatch(problem);
    }
  });

  it.each<readonly [string | undefined, string]>([
    [undefined, "the host header is missing; send the name of the server"],
    ["", 'host "" is malformed; send a name, or name:port'],
    ["localhost, localhost", 'host "localhost, localhost" is malformed; send a name, or name:port'],
    ["localhost@evil.example", 'host "localhost@evil.example" is malformed; send a name, or name:port'],
    ["a\r\nb\u202e", 'host "ab" is malformed; send a name, or name:port'],
    ["a".repeat(101), `host "${"a".repeat(100)}…" is not allowed; list it in allowedHosts`],
  ])("C98: says what is wrong with %j", (host, problem) => {
    expect(createHostCheck(loopbackHosts)(host)).toBe(problem);
  });

  it("C98: with any host, wants a well-formed one still", () => {
    const any = createHostCheck("any");
    expect(any("evil.example:1")).toBeUndefined();
    expect(any("a b")).toContain("malformed");
    expect(any(undefined)).toContain("missing");
  });

  it("C98: allows nothing by an empty list", () => {
    expect(createHostCheck([])("localhost")).toContain("not allowed");
  });

  it.each(["", "*", "http://localhost", "localhost/", "a b", "*.example", "a:b", "localhost:*", "[::g]"])(
    "refuses the entry %j",
    (entry) => {
      expect(() => createHostCheck(["localhost", entry])).toThrow(
        expect.objectContaining({
          code: "invalid-definition",
          message: `allowed host "${entry}" must be a name, or name:port`,
        }),
      );
    },
  );

  it("C98: lets nothing pass that only resembles an entry", () => {
    const affix = fc.array(fc.constantFrom(..."a1.-_:@/[]% \t"), { minLength: 1 }).map((chars) => chars.join(""));
    const allowed = /^localhost\.?(:\d{1,5})?$/;
    fc.assert(
      fc.property(affix, affix, (before, after) => {
        for (const host of [`${before}localhost`, `localhost${after}`, `${before}localhost${after}`]) {
          if (!allowed.test(host)) expect(createHostCheck(["localhost"])(host)).toBeTypeOf("string");
        }
      }),
    );
  });
});
