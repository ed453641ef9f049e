import { describe, expect, it } from "vitest";
import { createLedger, toLimitError } from "./budget.ts";

const defaults = {
  connection: { maxStreams: 2 },
  principal: { maxStreams: 3, maxHeldBytes: 100 },
  process: { maxStreams: 4, maxHeldBytes: 150 },
};

describe("a ledger", () => {
  it("takes from a connection, its principal and the process, all or nothing", () => {
    const ledger = createLedger(defaults, undefined, "a test");
    const [one, two, other] = [ledger.connection("ann"), ledger.connection("ann"), ledger.connection("bob")];
    expect([one.take("streams"), one.take("streams"), two.take("streams")]).toEqual([undefined, undefined, undefined]);
    expect(one.take("streams")).toMatchObject({ limit: "maxStreams", max: 2, scope: "connection" });
    expect(two.take("streams")).toMatchObject({ limit: "maxStreams", max: 3, scope: "principal" });
    expect(other.take("streams")).toBeUndefined();
    expect(other.take("streams")).toMatchObject({ limit: "maxStreams", max: 4, scope: "process" });
    expect(other.held("streams")).toBe(1);
    one.give("streams");
    expect(other.take("streams")).toBeUndefined();
  });

  it("counts what is added whatever the limit, and refuses what comes after it", () => {
    const ledger = createLedger(defaults, undefined, "a test");
    const ann = ledger.principal("ann");
    ann.add("heldBytes", 500);
    expect(ann.take("heldBytes", 1)).toMatchObject({ scope: "principal", max: 100 });
    expect(ledger.principal("bob").take("heldBytes", 1)).toMatchObject({ scope: "process", max: 150 });
    ann.give("heldBytes", 500);
    expect(ledger.principal("bob").take("heldBytes", 100)).toBeUndefined();
  });

  it("knows only the principals that hold something", () => {
    const ledger = createLedger(defaults, undefined, "a test");
    const ann = ledger.principal("ann");
    expect(ledger.status().principals).toBe(0);
    ann.take("streams");
    expect(ledger.principal("ann").held("streams")).toBe(1);
    expect(ledger.status()).toMatchObject({ principals: 1, held: { streams: 1, sessions: 0 }, limits: { streams: 4 } });
    ann.give("streams");
    expect(ledger.status().principals).toBe(0);
    ann.take("streams");
    expect(ledger.principal("ann")).toBe(ann);
  });

  it("takes other limits, 0 and Infinity for none", () => {
    const given = { connection: { maxStreams: 0 }, principal: { maxStreams: Number.POSITIVE_INFINITY } };
    const account = createLedger(defaults, given, "a test").connection("ann");
    for (let count = 0; count < 4; count++) expect(account.take("streams")).toBeUndefined();
    expect(account.take("streams")).toMatchObject({ scope: "process" });
  });

  it.each([
    [{ connections: {} }, /unknown option "connections"; did you mean "connection"/],
    [{ process: { maxStream: 1 } }, /unknown option "maxStream"; did you mean "maxStreams"/],
    [{ process: { maxStreams: -1 } }, /budgets.process.maxStreams of a test must be 0 or more/],
    [{ process: { maxStreams: Number.NaN } }, /budgets.process.maxStreams of a test must be 0 or more/],
  ])("refuses %j", (given, message) => {
    expect(() => createLedger(defaults, given as never, "a test")).toThrow(message);
  });

  it("names the limit, its value and whose share it is in the error", () => {
    const account = createLedger(defaults, undefined, "a test").connection("ann");
    account.add("streams", 2);
    const shortage = account.take("streams");
    if (shortage === undefined) throw new Error("nothing is short");
    const error = toLimitError(shortage);
    expect(error).toMatchObject({
      code: "limit-reached",
      message: "budgets.connection.maxStreams of the server is 2, and used up; retry later",
      data: { reason: "limit-reached", limit: "maxStreams", max: 2, scope: "connection", retryAfterMs: 1_000 },
    });
  });
});
