import { afterAll, expect, it } from "vitest";
import { everythingHere, serveHttp } from "../e2e/support/built.ts";
import { startWorker } from "./support/worker.ts";

const serving = await serveHttp(await everythingHere(), { port: 0 });
afterAll(() => serving.close());
const worker = await startWorker("test/fixtures/workers/client.mjs");

it.each(["2026-07-28", "2025-11-25"])("a client in a Worker calls and is asked, in %s (I2)", async (revision) => {
  const ask = () => fetch(`${worker.url}/?${new URLSearchParams({ url: serving.url, revision })}`);
  for (const response of await Promise.all([ask(), ask()])) {
    expect(await response.json()).toEqual({ revision, echoed: "hello", asked: "You said: yes" });
  }
});
