import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearestTo } from "./tool-index.ts";

describe("nearestTo", () => {
  const names = ["shop:buy", "shop:sell", "mail:send_message", "mail:search_messages", "other:buy"];

  it.each([
    ["shop:buy", ["shop:buy"]],
    ["buy", ["shop:buy", "other:buy"]],
    ["shop_buy", ["shop:buy"]],
    ["Shop.Bye", ["shop:buy"]],
    ["sendMessage", ["mail:send_message"]],
    ["mail:send_mesage", ["mail:send_message"]],
    ["something else", []],
    ["__proto__", []],
    ["x".repeat(100_000), []],
  ])("finds for %s", (wanted, expected) => {
    expect(nearestTo(wanted, names).slice(0, expected.length || 3)).toEqual(expected);
  });

  it("finds a name with one mistake in it, and never more than three", () => {
    const name = fc.stringMatching(/^[a-z]{4,10}$/);
    fc.assert(
      fc.property(name, fc.nat(), fc.array(name, { maxLength: 20 }), (meant, at, others) => {
        const place = at % meant.length;
        const mistyped = `${meant.slice(0, place)}#${meant.slice(place + 1)}`;
        const found = nearestTo(mistyped, [meant, ...others]);
        expect(found[0]).toBe(meant);
        expect(found.length).toBeLessThanOrEqual(3);
      }),
    );
  });
});
