import { expect, it } from "vitest";
import type { Fixture } from "./contract.ts";
import { eventually, given, LONG, rejects, SHORT, strangeNames } from "./support.ts";

export function leaseContract(fixture: () => Fixture): void {
  it("gives what nobody holds to one, until it is given back", async () => {
    const { store, second } = fixture();
    expect(await store.leases.held("a")).toBe(false);
    const lease = given(await store.leases.acquire("a", LONG));
    expect(lease.name).toBe("a");
    expect(await second.leases.held("a")).toBe(true);
    expect(await second.leases.acquire("a", LONG)).toBeUndefined();
    expect(await store.leases.acquire("a", LONG)).toBeUndefined();
    expect(await second.leases.acquire("b", LONG)).toBeDefined();
    await lease.release();
    expect(await second.leases.held("a")).toBe(false);
    expect(await second.leases.acquire("a", LONG)).toBeDefined();
  });

  it("gives it to one of many who ask at once", async () => {
    const { store, second } = fixture();
    const asked = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? store : second).leases.acquire("a", LONG));
    expect((await Promise.all(asked)).filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it("gives each lease on a name a larger token, also when the one before has run out", async () => {
    const { store, second, passes } = fixture();
    const tokens: number[] = [];
    for (let i = 0; i < 3; i++) {
      const lease = given(await (i % 2 === 0 ? store : second).leases.acquire("a", LONG));
      tokens.push(lease.token);
      await lease.release();
    }
    tokens.push(given(await store.leases.acquire("a", SHORT)).token);
    await passes(SHORT);
    await eventually(async () => tokens.push(given(await second.leases.acquire("a", LONG)).token));
    expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    expect(tokens.every(Number.isSafeInteger)).toBe(true);
  });

  it("ends by itself, and cannot be renewed then, also if nobody took it since", async () => {
    const { store, second, passes } = fixture();
    const lease = given(await store.leases.acquire("a", SHORT));
    await passes(SHORT);
    await eventually(async () => expect(await second.leases.held("a")).toBe(false));
    expect(await lease.renew()).toBe(false);
    expect(await store.leases.held("a")).toBe(false);
    expect(await second.leases.acquire("a", LONG)).toBeDefined();
    expect(await lease.renew()).toBe(false);
  });

  it("is held for another `ttlMs` from when it is renewed", async () => {
    const { store, second, place } = fixture();
    const ttlMs = place.advance === undefined ? 5_000 : SHORT;
    await store.leases.acquire("other", ttlMs);
    const lease = given(await store.leases.acquire("a", ttlMs));
    await place.advance?.(ttlMs * 0.75);
    await eventually(async () => {
      expect(await lease.renew()).toBe(true);
      await place.advance?.(ttlMs / 2);
      expect(await store.leases.held("other")).toBe(false);
    });
    expect(await lease.renew()).toBe(true);
    expect(await second.leases.acquire("a", ttlMs)).toBeUndefined();
  });

  it("cannot be renewed after it was given back", async () => {
    const { store } = fixture();
    const lease = given(await store.leases.acquire("a", LONG));
    await lease.release();
    expect(await lease.renew()).toBe(false);
    await lease.release();
    expect(await store.leases.held("a")).toBe(false);
  });

  it("is not taken from a later holder by an earlier one that gives it back", async () => {
    const { store, second, passes } = fixture();
    const early = given(await store.leases.acquire("a", SHORT));
    await passes(SHORT);
    const late = given(await eventually(async () => given(await second.leases.acquire("a", LONG))));
    await early.release();
    expect(await early.renew()).toBe(false);
    expect(await second.leases.held("a")).toBe(true);
    expect(await late.renew()).toBe(true);
    expect(await store.leases.acquire("a", LONG)).toBeUndefined();
  });

  it("lets its holder write after it ran out, until somebody takes it", async () => {
    const { store, second, passes } = fixture();
    const early = given(await store.leases.acquire("a", SHORT));
    await store.leases.acquire("other", SHORT);
    await passes(SHORT);
    for (const name of ["a", "other"]) {
      await eventually(async () => expect(await store.leases.held(name)).toBe(false));
    }
    expect(await store.values.put("a", "1", { fence: early.token })).toBeTypeOf("string");

    const late = given(await second.leases.acquire("a", SHORT));
    await passes(SHORT);
    await eventually(async () => expect(await store.leases.held("a")).toBe(false));
    expect(await store.values.put("a", "2", { fence: early.token })).toBeUndefined();
    expect(await store.values.delete("a", { fence: early.token })).toBe(false);
    expect(await store.streams.append("a", ["2"], { fence: early.token })).toBeUndefined();
    expect(await second.streams.append("a", ["2"], { fence: late.token })).toBe(1);
  });

  it("takes any text of up to 512 characters as a name, and keeps names apart", async () => {
    const { store, second } = fixture();
    for (const name of strangeNames) {
      expect(await second.leases.held(name)).toBe(false);
      expect((await store.leases.acquire(name, LONG))?.name).toBe(name);
    }
    for (const name of strangeNames) expect(await second.leases.held(name)).toBe(true);
    await rejects(() => store.leases.acquire("x".repeat(513), LONG), "invalid");
    await rejects(() => store.leases.held("x".repeat(513)), "invalid");
    await rejects(() => store.leases.acquire("a", 0), "invalid");
  });
}
