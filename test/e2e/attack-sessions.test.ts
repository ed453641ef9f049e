import { expect, it } from "vitest";
import { attack, expectCalm } from "./support/attack.ts";

// Clients that open more than anybody needs, and keep it.

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
