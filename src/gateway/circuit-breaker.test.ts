import { describe, expect, it } from "vitest";
import { McpError } from "../protocol/errors.ts";
import type { Outcome } from "../protocol/service.ts";
import { createManualClock } from "../testing/clock.ts";
import { createCircuitBreakers } from "./circuit-breaker.ts";

const done: Outcome<"completion/complete"> = { kind: "complete", result: { completion: { values: [] } } };
const answer = async () => done;
const silence = async (): Promise<Outcome<"completion/complete">> => {
  throw new McpError("timeout", "no answer");
};

function createBreakers() {
  const clock = createManualClock();
  const { run, pausedMs } = createCircuitBreakers({ maxFailures: 3, pauseMs: 1_000 }, clock);
  const fail = () => run({ server: "slow" }, silence).catch((error: McpError) => error.code);
  return { clock, run, pausedMs, fail };
}

describe("the circuit breaker of a server", () => {
  it("refuses calls after so many without an answer, and says when to retry", async () => {
    const { run, fail, pausedMs } = createBreakers();
    expect([await fail(), await fail(), await fail()]).toEqual(["timeout", "timeout", "timeout"]);
    expect(pausedMs("slow")).toBe(1_000);
    let isSent = false;
    const refused = run({ server: "slow" }, async () => {
      isSent = true;
      return done;
    });
    await expect(refused).rejects.toMatchObject({
      code: "connection-closed",
      message: expect.stringContaining("server slow has not answered 3 calls in a row"),
      data: { server: "slow", retryAfterMs: 1_000, safeToRetry: true },
    });
    expect(isSent).toBe(false);
  });

  it("leaves other servers alone", async () => {
    const { run, fail } = createBreakers();
    for (let n = 0; n < 3; n++) await fail();
    expect(await run({ server: "well" }, answer)).toBe(done);
  });

  it("leaves the connections of other callers to the server alone", async () => {
    const { run, fail, pausedMs } = createBreakers();
    const eve = { server: "slow", owner: "eve" };
    for (let n = 0; n < 3; n++) await run(eve, silence).catch(() => {});
    await expect(run(eve, answer)).rejects.toMatchObject({ data: { safeToRetry: true } });
    expect(await run({ server: "slow", owner: "ann" }, answer)).toBe(done);
    expect(pausedMs("slow")).toBeUndefined();
    for (let n = 0; n < 3; n++) await fail();
    await expect(run({ server: "slow" }, answer)).rejects.toMatchObject({ data: { safeToRetry: true } });
  });

  it("is forgotten with its server", async () => {
    const clock = createManualClock();
    const breakers = createCircuitBreakers({ maxFailures: 1 }, clock);
    const circuits = [{ server: "slow" }, { server: "slow", owner: "eve" }];
    for (const circuit of circuits) await breakers.run(circuit, silence).catch(() => {});
    breakers.forget("slow");
    for (const circuit of circuits) expect(await breakers.run(circuit, answer)).toBe(done);
  });

  it("tries one call after the pause: an answer lets all through again", async () => {
    const { clock, run, fail, pausedMs } = createBreakers();
    for (let n = 0; n < 3; n++) await fail();
    await clock.advance(1_000);
    let end = (_: Outcome<"completion/complete">): void => {};
    const trial = run(
      { server: "slow" },
      () => new Promise<Outcome<"completion/complete">>((resolve) => (end = resolve)),
    );
    await expect(run({ server: "slow" }, answer)).rejects.toMatchObject({ code: "connection-closed" });
    end(done);
    await trial;
    expect(pausedMs("slow")).toBeUndefined();
    expect(await run({ server: "slow" }, answer)).toBe(done);
  });

  it("pauses again when the trial is not answered", async () => {
    const { clock, fail, pausedMs } = createBreakers();
    for (let n = 0; n < 3; n++) await fail();
    await clock.advance(1_000);
    expect(await fail()).toBe("timeout");
    expect(pausedMs("slow")).toBe(1_000);
  });

  it("counts an error that the server gave as an answer", async () => {
    const { run, fail, pausedMs } = createBreakers();
    for (let n = 0; n < 2; n++) await fail();
    const failure = { code: "invalid-params", message: "no" } as const;
    await run({ server: "slow" }, async () => ({ kind: "failed", failure }) as Outcome<"completion/complete">);
    expect(await fail()).toBe("timeout");
    expect(pausedMs("slow")).toBeUndefined();
  });

  it("counts neither what a caller has given up nor what was refused here", async () => {
    const { run, fail, pausedMs } = createBreakers();
    for (let n = 0; n < 2; n++) await fail();
    const cancelled = async (): Promise<Outcome<"completion/complete">> => {
      throw new McpError("cancelled", "the caller left");
    };
    await run({ server: "slow" }, cancelled).catch(() => {});
    await fail();
    expect(pausedMs("slow")).toBe(1_000);
  });
});
