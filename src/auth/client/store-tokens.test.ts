import { describe, expect, it } from "vitest";
import { describeTokenStore } from "../../../test/support/token-store-contract.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { createManualClock } from "../../testing/clock.ts";
import { memoryTokens, storeTokens } from "./token-store.ts";

describeTokenStore("a store", () => {
  const store = memoryStore();
  return { open: () => storeTokens(store), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
});

describeTokenStore(
  "memory",
  () => {
    const tokens = memoryTokens();
    return { open: () => tokens, [Symbol.asyncDispose]: async () => {} };
  },
  { isShared: false },
);

describe("tokens in a store", () => {
  it("are kept, apart for each prefix, until they are deleted", async () => {
    await using store = memoryStore();
    const [ann, ben] = [storeTokens(store, { prefix: "ann:" }), storeTokens(store, { prefix: "ben:" })];
    await ann.set("x", "1");
    expect([await ann.get("x"), await ben.get("x")]).toEqual(["1", undefined]);
    await ann.delete("x");
    expect(await ann.get("x")).toBeUndefined();
  });

  it("are worked on by one at a time, also when that takes long", async () => {
    const clock = createManualClock();
    await using store = memoryStore({ clock });
    const [one, other] = [storeTokens(store, { clock }), storeTokens(store, { clock })];
    const order: string[] = [];
    let finish = (): void => {};
    const first = one.exclusive?.("x", async () => {
      order.push("first begins");
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      order.push("first ends");
    });
    await clock.advanceAsync(0);
    const second = other.exclusive?.("x", async () => order.push("second"));
    await other.exclusive?.("y", async () => order.push("another"));
    await clock.advanceAsync(50_000);
    expect(order).toEqual(["first begins", "another"]);
    finish();
    await first;
    await clock.advanceAsync(1_000);
    await second;
    expect(order).toEqual(["first begins", "another", "first ends", "second"]);
  });

  it("are not waited for for ever, and given back by what fails", async () => {
    const clock = createManualClock();
    await using store = memoryStore({ clock });
    const tokens = storeTokens(store, { clock });
    await expect(tokens.exclusive?.("x", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    void tokens.exclusive?.("x", () => new Promise(() => {}));
    await clock.advanceAsync(0);
    const waiting = expect(tokens.exclusive?.("x", async () => {})).rejects.toMatchObject({ code: "timeout" });
    await clock.advanceAsync(61_000);
    await waiting;
  });
});
