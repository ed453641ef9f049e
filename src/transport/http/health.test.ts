import { describe, expect, it } from "vitest";
import { memoryStore } from "../../store/memory-store.ts";
import type { Store } from "../../store/store.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createHealth, type HealthOptions } from "./health.ts";

function setUp(options: HealthOptions = {}, store?: () => Promise<Store>) {
  const clock = createManualClock();
  const warnings: string[] = [];
  let isClosing = false;
  const warn = (message: string): number => warnings.push(message);
  const health = createHealth(options, { store, clock, warn, isClosing: () => isClosing });
  const ask = async (path: string): Promise<readonly [number, unknown]> => {
    const { status, body } = await health.answer(path);
    return [status, JSON.parse(body)];
  };
  return {
    ask,
    clock,
    warnings,
    paths: health.paths,
    close() {
      isClosing = true;
    },
  };
}

/** A check that is over when it is told so. */
function createSlowCheck() {
  let begun = 0;
  let end = (): void => {};
  return {
    check: () => {
      begun++;
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    },
    begun: () => begun,
    end: () => end(),
  };
}

describe("health", () => {
  it("says that the process is up without asking anything", async () => {
    let asked = 0;
    const { ask } = setUp({ checks: { database: () => asked++ } });
    expect(await ask("/healthz")).toEqual([200, { status: "ok" }]);
    expect(asked).toBe(0);
  });

  it("says that calls can be served when the store and every check are well", async () => {
    const store = memoryStore();
    const { ask } = setUp({ checks: { database: async () => {}, disk: () => true } }, async () => store);
    expect(await ask("/readyz")).toEqual([200, { status: "ok", checks: { store: "ok", database: "ok", disk: "ok" } }]);
  });

  it("names what fails, and keeps errors to itself", async () => {
    const away = async (): Promise<Store> => {
      throw Object.assign(new Error("redis://user:secret@db is away"), { code: "ECONNREFUSED" });
    };
    const checks = {
      thrown: () => {
        throw new TypeError("secret");
      },
      false: () => false,
      good: () => undefined,
    };
    const { ask, warnings } = setUp({ checks }, away);
    const failed = [
      503,
      { status: "failed", checks: { store: "failed", thrown: "failed", false: "failed", good: "ok" } },
    ];
    expect(await ask("/readyz")).toEqual(failed);
    expect(await ask("/readyz")).toEqual(failed);
    expect(warnings).toEqual(
      [
        "check false of health fails: it gives false",
        "check thrown of health fails: TypeError",
        "check store of health fails: Error ECONNREFUSED",
      ].toSorted((one, other) => warnings.indexOf(one) - warnings.indexOf(other)),
    );
    expect(await ask("/healthz")).toEqual([200, { status: "ok" }]);
  });

  it("tells again when a check fails that was well in between", async () => {
    let isWell = false;
    const { ask, warnings } = setUp({ checks: { database: () => isWell } });
    await ask("/readyz");
    isWell = true;
    expect(await ask("/readyz")).toEqual([200, { status: "ok", checks: { database: "ok" } }]);
    isWell = false;
    await ask("/readyz");
    expect(warnings).toHaveLength(2);
  });

  it("waits no longer than its time limit, and begins nothing twice that still runs", async () => {
    const slow = createSlowCheck();
    const { ask, clock, warnings } = setUp({ checks: { slow: slow.check, quick: () => {} }, timeoutMs: 500 });
    const timeout = [503, { status: "failed", checks: { slow: "timeout", quick: "ok" } }];
    for (let round = 0; round < 3; round++) {
      const both = [ask("/readyz"), ask("/readyz")];
      await clock.advanceAsync(500);
      expect(await Promise.all(both)).toEqual([timeout, timeout]);
    }
    expect(slow.begun()).toBe(1);
    expect(warnings).toEqual(["check slow of health fails: it takes longer than 500 ms"]);
    slow.end();
    await clock.advanceAsync(0);
    const answer = ask("/readyz");
    await clock.advanceAsync(0);
    expect(slow.begun()).toBe(2);
    slow.end();
    expect(await answer).toEqual([200, { status: "ok", checks: { slow: "ok", quick: "ok" } }]);
    expect(clock.pending).toBe(0);
  });

  it("says 503 for both while the server is closing", async () => {
    const { ask, close } = setUp();
    close();
    expect(await ask("/healthz")).toEqual([503, { status: "closing" }]);
    expect(await ask("/readyz")).toEqual([503, { status: "closing" }]);
  });

  it("is where it is told to be", async () => {
    const { ask, paths } = setUp({ livePath: "/live", readyPath: "/ready" });
    expect(paths).toEqual(["/live", "/ready"]);
    expect(await ask("/live")).toEqual([200, { status: "ok" }]);
    expect(await ask("/ready")).toEqual([200, { status: "ok", checks: {} }]);
  });

  it("refuses options that it does not have, and checks that are none", () => {
    const unknown = { paths: ["/health"] } as HealthOptions;
    expect(() => setUp(unknown)).toThrow('health of serveHttp has an unknown option "paths"');
    const none = { checks: { database: undefined } } as unknown as HealthOptions;
    expect(() => setUp(none)).toThrow("check database of health must be a function");
  });
});
