import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAliases, toAlias } from "./alias.ts";

const pattern = /^[A-Za-z0-9_-]{1,64}$/;

describe("toAlias", () => {
  it.each([
    ["buy", "buy"],
    ["get-stock_2", "get-stock_2"],
    ["shop:buy", "shop__buy"],
    ["my_shop:buy__now", "my_shop__buy__now"],
  ])("turns %s into %s", (name, alias) => {
    expect(toAlias(name)).toBe(alias);
  });

  it.each([
    ["a_:b", "another name could lead to a___b"],
    ["a:_b", "another name could lead to a___b"],
    ["a__b:c", "another name could lead to a__b__c"],
    ["a:b:c", "there are two colons"],
    ["a:", "there is no tool"],
    [":b", "there is no server"],
    ["files.read", "a dot is not allowed"],
    ["größe", "an umlaut is not allowed"],
    [`shop:${"x".repeat(60)}`, "it is too long"],
    ["x".repeat(65), "it is too long"],
    ["", "there is nothing"],
  ])("ends in a hash for %j: %s", (name) => {
    expect(toAlias(name)).toMatch(/_[a-z2-7]{8}$/);
    expect(toAlias(name)).toMatch(pattern);
  });

  it("keeps what it can of a name", () => {
    expect(toAlias("files.read")).toMatch(/^files_read_/);
    expect(toAlias(`shop:${"x".repeat(100)}`)).toMatch(/^shop_x{50}_[a-z2-7]{8}$/);
  });

  it("is the same in every process", () => {
    expect(toAlias("files.read")).toBe("files_read_b5ijgv5o");
  });

  it("tells names apart that differ only in what is replaced or cut", () => {
    const names = ["a.b", "a/b", "a b", `${"x".repeat(80)}1`, `${"x".repeat(80)}2`];
    expect(new Set(names.map((name) => toAlias(name))).size).toBe(names.length);
  });
});

describe("createAliases", () => {
  it("gives every name its own alias, and finds the way back", () => {
    const part = fc.stringMatching(/^[ab_:.]{0,4}$/);
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.oneof(part, fc.string(), fc.constantFrom("a:b", "a__b", "a_b")), { maxLength: 30 }),
        (names) => {
          const { aliasOf, nameOf } = createAliases(names);
          for (const name of names) {
            expect(aliasOf(name)).toMatch(pattern);
            expect(nameOf(aliasOf(name))).toBe(name);
          }
        },
      ),
    );
  });

  it("leaves a safe name alone, whoever else wants it", () => {
    const { aliasOf } = createAliases(["shop:buy", "shop__buy"]);
    expect(aliasOf("shop__buy")).toBe("shop__buy");
    expect(aliasOf("shop:buy")).toMatch(/^shop_buy_[a-z2-7]{8}$/);
  });

  it("gives an alias that two names have to the first", () => {
    const taken = toAlias("a.b");
    const { aliasOf, nameOf } = createAliases(["a.b", taken]);
    expect(aliasOf(taken)).toBe(taken);
    expect(aliasOf("a.b")).not.toBe(taken);
    expect(nameOf(aliasOf("a.b"))).toBe("a.b");
  });

  it("knows no name behind an alias of nobody", () => {
    const { aliasOf, nameOf } = createAliases(["buy"]);
    expect(nameOf("sell")).toBeUndefined();
    expect(nameOf("__proto__")).toBeUndefined();
    expect(aliasOf("shop:sell")).toBe("shop__sell");
  });

  it("starts with a letter where it has to", () => {
    const rule = { safe: /^[A-Za-z_][A-Za-z0-9_]{0,63}$/, unsafe: /[^A-Za-z0-9_]/g, maxLength: 64 };
    const { aliasOf } = createAliases(["2fast", "-x", "x-y"], rule);
    expect(aliasOf("2fast")).toMatch(/^_2fast_[a-z2-7]{8}$/);
    expect(aliasOf("-x")).toMatch(rule.safe);
    expect(aliasOf("x-y")).toMatch(/^x_y_/);
  });
});
