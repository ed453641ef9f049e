import { expect, it } from "vitest";
import { script } from "./support/places.ts";
import { run } from "./support/run.ts";

// What a call leaves behind that only a full collection can free. A request that something old still points to is kept
// whole until then: five to fifteen KB of each, and a third of the speed. See docs/adr/0031-calls-die-young.md.

const CALLS = 500;
const most = 2_500;
/**
 * Two requests, a form with a schema of its own, and the outcome for a client that asks again; a stream of events that is kept for a client that comes back, within
 * `replayChars`; two signals of the platform, which it keeps.
 */
const moreFor: Readonly<Record<string, number>> = {
  "HTTP 2026-07-28, a question": 40_000,
  "HTTP 2025-11-25, progress": 6_000,
  "HTTP 2025-11-25, a question": 26_000,
  "a fetch handler": 7_500,
};

it("a call leaves next to nothing behind, whichever way it comes", async () => {
  const { command, args } = script("test/fixtures/children/leftovers.mjs", `${CALLS}`);
  const { stdout, stderr } = await run({ command, args: ["--expose-gc", "--no-opt", "--no-warnings", ...args] });
  if (stdout === "") throw new Error(stderr);
  const left: Readonly<Record<string, number>> = JSON.parse(stdout);
  expect(Object.keys(left)).toHaveLength(19);
  expect(Object.entries(left).filter(([way, bytes]) => bytes > (moreFor[way] ?? most))).toEqual([]);
}, 300_000);
