import type { ContractCases } from "./cases.ts";
import { equal, eventually, given, isTrue, LONG, rejects, SHORT, strangeNames } from "./support.ts";

export const leaseCases: ContractCases = {
  async "gives what nobody holds to one, until it is given back"({ store, second }) {
    equal(await store.leases.held("a"), false);
    const lease = given(await store.leases.acquire("a", LONG));
    equal(lease.name, "a");
    equal(await second.leases.held("a"), true);
    equal(await second.leases.acquire("a", LONG), undefined);
    equal(await store.leases.acquire("a", LONG), undefined);
    isTrue((await second.leases.acquire("b", LONG)) !== undefined);
    await lease.release();
    equal(await second.leases.held("a"), false);
    isTrue((await second.leases.acquire("a", LONG)) !== undefined);
  },

  async "gives it to one of many who ask at once"({ store, second }) {
    const asked = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? store : second).leases.acquire("a", LONG));
    equal((await Promise.all(asked)).filter((lease) => lease !== undefined).length, 1);
  },

  async "gives each lease on a name a larger token, also when the one before has run out"({ store, second, passes }) {
    const tokens: number[] = [];
    for (let i = 0; i < 3; i++) {
      const lease = given(await (i % 2 === 0 ? store : second).leases.acquire("a", LONG));
      tokens.push(lease.token);
      await lease.release();
    }
    tokens.push(given(await store.leases.acquire("a", SHORT)).token);
    await passes(SHORT);
    await eventually(async () => tokens.push(given(await second.leases.acquire("a", LONG)).token));
    equal(
      tokens,
      [...new Set(tokens)].toSorted((a, b) => a - b),
    );
    equal(tokens.every(Number.isSafeInteger), true);
  },

  async "ends by itself, and cannot be renewed then, also if nobody took it since"({ store, second, passes }) {
    const lease = given(await store.leases.acquire("a", SHORT));
    await passes(SHORT);
    await eventually(async () => equal(await second.leases.held("a"), false));
    equal(await lease.renew(), false);
    equal(await store.leases.held("a"), false);
    isTrue((await second.leases.acquire("a", LONG)) !== undefined);
    equal(await lease.renew(), false);
  },

  async "is held for another `ttlMs` from when it is renewed"({ store, second, place }) {
    const ttlMs = place.advance === undefined ? 5_000 : SHORT;
    await store.leases.acquire("other", ttlMs);
    const lease = given(await store.leases.acquire("a", ttlMs));
    await place.advance?.(ttlMs * 0.75);
    await eventually(async () => {
      equal(await lease.renew(), true);
      await place.advance?.(ttlMs / 2);
      equal(await store.leases.held("other"), false);
    });
    equal(await lease.renew(), true);
    equal(await second.leases.acquire("a", ttlMs), undefined);
  },

  async "cannot be renewed after it was given back"({ store }) {
    const lease = given(await store.leases.acquire("a", LONG));
    await lease.release();
    equal(await lease.renew(), false);
    await lease.release();
    equal(await store.leases.held("a"), false);
  },

  async "is not taken from a later holder by an earlier one that gives it back"({ store, second, passes }) {
    const early = given(await store.leases.acquire("a", SHORT));
    await passes(SHORT);
    const late = given(await eventually(async () => given(await second.leases.acquire("a", LONG))));
    await early.release();
    equal(await early.renew(), false);
    equal(await second.leases.held("a"), true);
    equal(await late.renew(), true);
    equal(await store.leases.acquire("a", LONG), undefined);
  },

  async "lets its holder write after it ran out, until somebody takes it"({ store, second, passes }) {
    const early = given(await store.leases.acquire("a", SHORT));
    await store.leases.acquire("other", SHORT);
    await passes(SHORT);
    for (const name of ["a", "other"]) {
      await eventually(async () => equal(await store.leases.held(name), false));
    }
    equal(typeof (await store.values.put("a", "1", { fence: early.token })), "string");

    const late = given(await second.leases.acquire("a", SHORT));
    await passes(SHORT);
    await eventually(async () => equal(await store.leases.held("a"), false));
    equal(await store.values.put("a", "2", { fence: early.token }), undefined);
    equal(await store.values.delete("a", { fence: early.token }), false);
    equal(await store.streams.append("a", ["2"], { fence: early.token }), undefined);
    equal(await second.streams.append("a", ["2"], { fence: late.token }), 1);
  },

  async "takes any text of up to 512 characters as a name, and keeps names apart"({ store, second }) {
    for (const name of strangeNames) {
      equal(await second.leases.held(name), false);
      equal((await store.leases.acquire(name, LONG))?.name, name);
    }
    for (const name of strangeNames) equal(await second.leases.held(name), true);
    await rejects(() => store.leases.acquire("x".repeat(513), LONG), "invalid");
    await rejects(() => store.leases.held("x".repeat(513)), "invalid");
    await rejects(() => store.leases.acquire("a", 0), "invalid");
  },
};
