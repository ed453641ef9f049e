import { expect, it } from "vitest";
import { call, openTalk } from "../e2e/support/talk.ts";
import { startWorker } from "./support/worker.ts";

const worker = await startWorker("examples/worker.mjs", { compatibilityFlags: ["enable_request_signal"] });

it.each(["2026-07-28", "2025-11-25"] as const)("the example for Workers runs, %s (I2, T8)", async (revision) => {
  await using talk = await openTalk(`${worker.url}/mcp`, { revision, onElicit: () => ({}) });
  expect(await call(talk.client, "order", { cake: "tart" })).toMatch(/^tart, order [0-9a-f-]{36}$/);
});
