import { expect, it } from "vitest";
import { failureOf, makeCall } from "../../../test/support/direct.ts";
import type { Outcome } from "../../protocol/service.ts";
import { createDeadlines } from "../../std/deadlines.ts";
import { lazy } from "../../std/lazy.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createServerShares } from "../server-shares.ts";
import type { Job } from "./execution.ts";
import { createRunner } from "./runner.ts";

it("gives the task that a named call has become to who can follow it, and to nobody else", async () => {
  const clock = createManualClock();
  const store = memoryStore({ clock });
  const options = {
    audience: "shop",
    stateKeys: undefined,
    askTimeoutMs: 1_000,
    now: clock.now,
    isShared: true,
  };
  const shares = lazy(async () => createServerShares(undefined, undefined, clock));
  const runner = createRunner({
    ...options,
    shares,
    deadlines: createDeadlines(clock),
    store: lazy(async () => store),
  });
  const times = { createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:00Z", ttlMs: null };
  let made = 0;
  const job: Job = {
    timeoutMs: 0,
    start: () => `task ${++made}`,
    finish: (taskId) => ({ kind: "task", task: { taskId: String(taskId), status: "working", ...times } }),
    fail: (error) => {
      throw error;
    },
  };
  const run = async (parts: { tasks?: { wanted: boolean } }): Promise<Outcome> =>
    runner.run(makeCall("tools/call", { name: "it" }, { meta: { "plugbay/key": "1" }, ...parts }).call, job);
  const outcome = await run({ tasks: { wanted: false } });
  expect(outcome).toMatchObject({ kind: "task", task: { taskId: "task 1" } });
  expect(await run({ tasks: { wanted: false } })).toEqual(outcome);
  expect(failureOf(await run({})).code).toBe("limit-reached");
});
