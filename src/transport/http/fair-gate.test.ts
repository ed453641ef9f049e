import { describe, expect, it } from "vitest";
import { gate } from "../../../test/support/served.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import { IncomingNotification } from "../../jsonrpc/incoming-notification.ts";
import { type Budgets, createLedger } from "../../protocol/budget.ts";
import { createFairGate, type HttpCaller } from "./fair-gate.ts";

const budgets: Budgets = {
  connection: { maxRunningCalls: 3 },
  principal: { maxRunningCalls: 4, maxQueuedCalls: 5 },
  process: { maxRunningCalls: 6 },
};

function open() {
  const ledger = createLedger(budgets, undefined, "a test");
  const fair = createFairGate();
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  const exchanges = new Map<string, IncomingRequest>();
  const connection = (owner: string): HttpCaller => fair.caller(ledger.connection(owner));
  const run = (caller: HttpCaller, name: string) => {
    const exchange = new IncomingNotification(
      { kind: "notification", method: "m", params: {} },
      { send: () => undefined },
    );
    exchanges.set(name, exchange);
    return caller.run(async () => {
      const { opened, open: end } = gate();
      running.push(name);
      ends.set(name, end);
      await opened;
    }, exchange);
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { ledger, connection, run, end, running, exchanges };
}

/** Promises that are settled have told everybody. */
async function settled(): Promise<void> {
  for (let n = 0; n < 10; n++) await Promise.resolve();
}

describe("a fair gate", () => {
  it("runs as many as each connection and principal may, and says what is used up", async () => {
    const { connection, run, running, ledger } = open();
    const [one, two] = [connection("ann"), connection("ann")];
    for (const name of ["a1", "a2", "a3", "a4"]) expect(run(one, name)).toBeUndefined();
    for (const name of ["b1", "b2"]) expect(run(two, name)).toBeUndefined();
    expect(running).toEqual(["a1", "a2", "a3", "b1"]);
    expect(ledger.status().held).toMatchObject({ runningCalls: 4, queuedCalls: 2 });
    for (const name of ["b3", "b4", "b5"]) expect(run(two, name)).toBeUndefined();
    expect(run(two, "b6")).toMatchObject({ limit: "maxQueuedCalls", max: 5, scope: "principal", owner: "ann" });
  });

  it("never lets a principal wait for one that has used up its share (S9)", async () => {
    const { connection, run, running } = open();
    const [ann, bob] = [connection("ann"), connection("bob")];
    const more = connection("ann");
    for (let n = 1; n <= 3; n++) run(ann, `a${n}`);
    for (let n = 4; n <= 8; n++) run(more, `a${n}`);
    expect(running).toEqual(["a1", "a2", "a3", "a4"]);
    run(bob, "b1");
    expect(running.at(-1)).toBe("b1");
  });

  it("gives free places in turn to principals, and in each to connections", async () => {
    const { connection, run, running, end } = open();
    const [ann, bob, cid] = [connection("ann"), connection("bob"), connection("cid")];
    const more = connection("ann");
    for (let n = 1; n <= 3; n++) run(ann, `a${n}`);
    for (let n = 1; n <= 3; n++) run(bob, `b${n}`);
    run(ann, "a4");
    run(ann, "a5");
    run(more, "m1");
    run(cid, "c1");
    expect(running).toHaveLength(6);
    for (const name of ["b1", "b2", "b3", "a1"]) await end(name);
    // Ann's first connection has all it may have until its first call ends.
    expect(running.slice(6)).toEqual(["m1", "c1", "a4"]);
  });

  it("forgets a call that is aborted while it waits", async () => {
    const { connection, run, running, end, exchanges, ledger } = open();
    const ann = connection("ann");
    for (let n = 1; n <= 5; n++) run(ann, `a${n}`);
    exchanges.get("a4")?.abort.abort("enough");
    expect(ledger.status().held.queuedCalls).toBe(1);
    await end("a1");
    expect(running).toEqual(["a1", "a2", "a3", "a5"]);
    for (const name of ["a2", "a3", "a5"]) await end(name);
    expect(ledger.status()).toMatchObject({ principals: 0, held: { runningCalls: 0, queuedCalls: 0 } });
  });

  it("gives the place of a call that waits for something else to others", async () => {
    const { connection, run, running } = open();
    const ann = connection("ann");
    for (let n = 1; n <= 4; n++) run(ann, `a${n}`);
    const { opened, open: answer } = gate();
    const left = ann.leave(opened);
    await settled();
    expect(running).toEqual(["a1", "a2", "a3", "a4"]);
    answer();
    await left;
  });
});
