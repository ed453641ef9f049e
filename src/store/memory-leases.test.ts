import { describe, expect, it } from "vitest";
import { given, LONG } from "../../test/store/support.ts";
import { createManualClock } from "../testing/clock.ts";
import { createExpiry, type ExpiringMap, type Expiry } from "./expiring-map.ts";
import { MAX_GIVEN_BACK, memoryLeases } from "./memory-leases.ts";

describe("memoryLeases", () => {
  it("remembers no more than 10,000 leases that were given back, and refuses older fences instead", async () => {
    const maps: ExpiringMap<unknown>[] = [];
    const made = createExpiry(createManualClock());
    const expiry: Expiry = {
      ...made,
      newMap(forget) {
        const map = made.newMap(forget);
        maps.push(map);
        return map;
      },
    };
    const { acquire, held, allows } = memoryLeases(expiry, () => {});
    const take = async (name: string) => given(await acquire(name, LONG));

    const [kept, first] = [await take("kept"), await take("first")];
    await first.release();
    for (let at = 1; at < MAX_GIVEN_BACK; at++) await (await take(`run ${at}`)).release();
    expect([allows("first", first.token), allows("unknown", 0)]).toEqual([true, true]);
    await (await take("one more")).release();
    // The first is forgotten: only fences that are as new as it hold for a name that nobody knows.
    expect([allows("first", first.token), allows("first", first.token - 1)]).toEqual([true, false]);
    expect([allows("unknown", first.token), allows("unknown", first.token - 1)]).toEqual([true, false]);
    expect([await held("kept"), allows("kept", kept.token)]).toEqual([true, true]);
    expect(maps.map(({ slots }) => slots.size)).toEqual([MAX_GIVEN_BACK + 1]);

    // A name that is taken and given back again and again is remembered once.
    const before = (await take("run 9999")).token;
    for (let at = 0; at < 10; at++) await (await take("again")).release();
    expect(allows("unknown", before)).toBe(true);
    expect(await acquire("run 9999", LONG)).toBeUndefined();
    expect(maps.map(({ slots }) => slots.size)).toEqual([MAX_GIVEN_BACK + 2]);
  });
});
