import { describe, expect, it } from "vitest";
import { gate } from "../../test/support/served.ts";
import { createManualClock } from "../testing/clock.ts";
import { createAttempts } from "./attempt.ts";
import { memoryStore } from "./memory-store.ts";
import { type Store, StoreError } from "./store.ts";

function setUp(store: (clock: ReturnType<typeof createManualClock>) => Store | Promise<Store> = () => memoryStore()) {
  const clock = createManualClock();
  const failures: unknown[] = [];
  const failed = (error: unknown): void => void failures.push(error);
  const attempt = createAttempts(store(clock), { clock, waitMs: 100, restMs: 1_000, failed });
  return { clock, failures, attempt };
}

const broken = new StoreError("unavailable", "it is away");

describe("an attempt", () => {
  it("gives what the store says, also when that is nothing", async () => {
    const { attempt, clock, failures } = setUp();
    expect(await attempt(({ values }) => values.get("a"))).toEqual({ ok: true, value: undefined });
    await attempt(({ values }) => values.put("a", "text"));
    expect(await attempt(({ values }) => values.get("a"))).toMatchObject({ ok: true, value: { text: "text" } });
    expect([failures, clock.pending]).toEqual([[], 0]);
  });

  it("waits for a store that is being opened", async () => {
    const opening = gate<Store>();
    const { attempt } = setUp(() => opening.opened);
    const answer = attempt(async () => "there");
    opening.open(memoryStore());
    expect(await answer).toEqual({ ok: true, value: "there" });
  });

  it.each<[string, () => Promise<never>]>([
    ["rejects", () => Promise.reject(broken)],
    [
      "throws",
      () => {
        throw broken;
      },
    ],
  ])("fails when the store %s, and leaves it alone for a while", async (_, work) => {
    const { attempt, clock, failures } = setUp();
    expect(await attempt(work)).toEqual({ ok: false });
    expect(failures).toEqual([broken]);
    clock.advance(999);
    expect(await attempt(async () => "there")).toEqual({ ok: false });
    clock.advance(1);
    expect(await attempt(async () => "there")).toEqual({ ok: true, value: "there" });
    expect(failures).toHaveLength(1);
  });

  it("fails when the store cannot be opened", async () => {
    const { attempt, failures } = setUp(() => Promise.reject(broken));
    expect(await attempt(async () => "there")).toEqual({ ok: false });
    expect(failures).toEqual([broken]);
  });

  it("waits only so long, and hears of what comes later neither good nor bad", async () => {
    const { attempt, clock, failures } = setUp();
    const [never, reject] = [gate(), gate()];
    const answers = Promise.all([
      attempt(() => never.opened),
      attempt(() => reject.opened.then(() => Promise.reject(broken))),
    ]);
    await clock.advanceAsync(100);
    expect(await answers).toEqual([{ ok: false }, { ok: false }]);
    clock.advance(1_000);
    reject.open();
    never.open();
    await clock.advanceAsync(0);
    expect(failures).toMatchObject([{ code: "unavailable", message: "the store did not answer within 0.1 s" }]);
  });
});
