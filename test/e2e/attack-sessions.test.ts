import { expect, it } from "vitest";
import { attack, expectAnswered, expectCalm } from "./support/attack.ts";

// Clients that open more than anybody needs, and keep it.

const MIB = 1_048_576;

it("10,000 sessions of one principal: memory is bounded, and others are answered (S9)", async () => {
  const damage = await attack("sessions");
  expectCalm(damage);
  expect(damage.status.held.sessions).toBe(2_000);
  expect(damage.warnings).toContain(
    "limit-reached: budgets.principal.maxSessions (2000) is used up by address 127.0.0.1",
  );
});

it("12,000 subscriptions of one session: memory is bounded, and others are answered (S10)", async () => {
  const damage = await attack("subscriptions");
  expectCalm(damage);
  expect(damage.status.held.subscriptions).toBe(1_024);
});

it("80 sessions whose clients say 4 MB of themselves: few are kept, and others are answered (S9)", async () => {
  const damage = await attack("large sessions");
  expectAnswered(damage);
  expect(damage.kept / MIB).toBeLessThan(50);
  expect(damage.status.held).toMatchObject({ sessions: 3, openRequests: 0 });
  expect(damage.status.held.heldBytes).toBeGreaterThan(20 * MIB);
});

it("80 calls with 4 MB of arguments that wait for an answer: few are kept, and others are answered (S9)", async () => {
  const damage = await attack("large questions");
  expectAnswered(damage);
  expect(damage.kept / MIB).toBeLessThan(50);
  expect(damage.status.held.parkedCalls).toBe(8);
});
