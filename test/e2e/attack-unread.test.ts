import { expect, it } from "vitest";
import { attack, expectCalm } from "./support/attack.ts";

// Clients that ask for much, and read nothing of it.

it.each(["unread JSON", "unread events"])("%s: memory is bounded, and others are answered (S2)", async (name) => {
  const damage = await attack(name);
  expectCalm(damage);
  expect(damage.status.held.heldBytes).toBeLessThanOrEqual(damage.status.limits.heldBytes);
});
