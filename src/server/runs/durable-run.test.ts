import { afterEach, describe, expect, it, vi } from "vitest";
import { cluster, form, no, textOf, trip, yes } from "../../../test/support/cluster.ts";
import { askedBy, failureOf } from "../../../test/support/direct.ts";
import { gate } from "../../../test/support/served.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { type Store, StoreError } from "../../store/store.ts";
import type { Context } from "../context.ts";

/** A handler that does one thing and waits until it may end. */
function working() {
  const [started, end] = [gate(), gate()];
  const log: string[] = [];
  const run = async ({ step, signal }: Context, node: string) => {
    await step("hold", () => log.push(`${node} holds`));
    started.open();
    const aborted = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    if (node === "a") await Promise.race([end.opened, aborted]);
    await step("mail", () => log.push(`${node} mails`));
    return `done by ${node}`;
  };
  return { started: started.opened, end: end.open, log, ...cluster(run) };
}

const key = "order 1";

describe("a run that is worked on", () => {
  it("stays with its process as long as that lives", async () => {
    const { call, clock, end, log, started } = working();
    const outcome = call("a", { key });
    await started;
    await clock.advanceAsync(600_000);
    const retry = call("b", { key });
    await clock.advanceAsync(10_000);
    end();
    await clock.advanceAsync(1_000);
    expect([textOf(await outcome), textOf(await retry)]).toEqual(["done by a", "done by a"]);
    expect(log).toEqual(["a holds", "a mails"]);
    await clock.advanceAsync(7_200_000);
    expect(clock.pending).toBe(0);
  });

  it("is not waited for without end", async () => {
    const { call, clock, end, passing, started } = working();
    const outcome = call("a", { key });
    await started;
    const before = clock.now();
    expect(failureOf(await passing(call("b", { key })))).toEqual({
      code: "limit-reached",
      message: "this call is still being worked on: try again later",
    });
    expect(clock.now() - before).toBeGreaterThanOrEqual(22_500);
    end();
    expect(textOf(await outcome)).toBe("done by a");
  });

  it("is not waited for by who has left", async () => {
    const { call, clock, made, servers, started } = working();
    void call("a", { key });
    await started;
    const retry = made({ key });
    const outcome = servers.b(retry.call);
    await clock.advanceAsync(1_000);
    retry.abort.abort("gone");
    expect(failureOf(await outcome).code).toBe("cancelled");
  });

  it("is aborted without a word when another process has taken over", async () => {
    const { call, clock, faults, log, passing, process, started } = working();
    const outcome = call("a", { key });
    await started;
    process("a").freeze();
    expect(textOf(await passing(call("b", { key })))).toBe("done by b");
    process("a").thaw();
    await clock.advanceAsync(0);
    expect(failureOf(await outcome)).toEqual({
      code: "cancelled",
      message: "this process has lost the run: another process continues it",
    });
    expect(log).toEqual(["a holds", "b mails"]);
    expect(faults).toEqual([]);
  });

  it("does nothing before it knows that no other process has taken over", async () => {
    const { call, end, faults, log, passing, process, started } = working();
    const outcome = call("a", { key });
    await started;
    process("a").freeze();
    expect(textOf(await passing(call("b", { key })))).toBe("done by b");
    end();
    process("a").thaw();
    expect(failureOf(await outcome)).toEqual({
      code: "cancelled",
      message: "this process has lost the run: another process continues it",
    });
    expect(log).toEqual(["a holds", "b mails"]);
    expect(faults).toEqual([]);
  });

  it("goes on when its store was out of reach for a moment", async () => {
    const { call, clock, end, log, process, started } = working();
    const outcome = call("a", { key });
    await started;
    process("a").freeze();
    await clock.advanceAsync(14_000);
    process("a").thaw();
    await clock.advanceAsync(60_000);
    end();
    expect(textOf(await outcome)).toBe("done by a");
    expect(log).toEqual(["a holds", "a mails"]);
  });

  it("is not let go while a step is running that was told to stop, and for no longer than that", async () => {
    const [begun, end] = [gate(), gate()];
    const log: string[] = [];
    const { call, clock, made, passing, servers } = cluster(async ({ step, signal }, node) => {
      const slow = step("slow", async () => {
        begun.open();
        await end.opened;
        return log.push(node);
      });
      await Promise.race([slow, new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)))]);
      return `${await slow} on ${node}`;
    });
    const first = made({ key });
    const outcome = servers.a(first.call);
    await begun.opened;
    first.abort.abort("gone");
    expect(failureOf(await outcome).code).toBe("cancelled");
    const retry = call("b", { key });
    await clock.advanceAsync(5_000);
    expect(log).toEqual([]);
    end.open();
    expect(textOf(await passing(retry))).toBe("1 on b");
    expect(log).toEqual(["a"]);
  });
});

describe("a run that waits for answers", () => {
  const leaving = () => {
    const log: string[] = [];
    const run = async ({ ask, step }: Context, node: string) => {
      try {
        const { ok } = await ask("Sure?", form);
        await step("charge", () => log.push(`${node} charges`));
        await ask("Receipt?", form);
        return `${node}: ${ok}`;
      } finally {
        log.push(`${node} leaves`);
      }
    };
    return { log, ...cluster(run, { askTimeoutMs: 100_000 }) };
  };

  it("is left where it stands when it went on elsewhere: what it would undo is in use there", async () => {
    const { call, clock, log } = leaving();
    const one = askedBy(await call("a"));
    const two = askedBy(await call("b", { state: one.state, answers: { "ask-1": yes } }));
    await clock.advanceAsync(99_000);
    expect(textOf(await call("b", { state: two.state, answers: { "ask-2": yes } }))).toBe("b: true");
    await clock.advanceAsync(600_000);
    expect(log).toEqual(["b charges", "b leaves"]);
  });

  it("is given up when nobody came for it", async () => {
    const { call, clock, log } = leaving();
    askedBy(await call("a"));
    await clock.advanceAsync(100_000);
    expect(log).toEqual(["a leaves"]);
  });

  it("is given up when the store cannot be asked", async () => {
    const { call, clock, log, shared } = leaving();
    askedBy(await call("a"));
    await shared.close();
    await clock.advanceAsync(100_000);
    expect(log).toEqual(["a leaves"]);
  });

  it("goes on where it stands, if nobody else did", async () => {
    const { call, log } = leaving();
    const one = askedBy(await call("a"));
    const two = askedBy(await call("a", { state: one.state, answers: { "ask-1": no } }));
    expect(textOf(await call("a", { state: two.state, answers: { "ask-2": yes } }))).toBe("a: false");
    expect(log).toEqual(["a charges", "a leaves"]);
  });

  it("does not do again what another process did before it ended", async () => {
    const { done, run } = trip();
    const { call, passing, process } = cluster(run, {}, { b: { at: 5 } });
    const { state } = askedBy(await call("a"));
    const answers = { "ask-1": yes };
    await Promise.race([call("b", { state, answers }), process("b").death]);
    expect(done).toEqual(["hold", "charge"]);
    const two = askedBy(await passing(call("a", { state, answers })));
    expect(textOf(await call("a", { state: two.state, answers: { "ask-2": yes } }))).toContain("charge by b");
    expect(done).toEqual(["hold", "charge", "mail"]);
  });

  it.each([1, 2])("does nothing more once it went on elsewhere, and is not unwound: round %i", async (round) => {
    const later = gate();
    const log: string[] = [];
    const { call, clock } = cluster(async ({ ask, step }, node) => {
      const work = () => step("meanwhile", () => log.push("a works"));
      const meanwhile = later.opened.then(() => (node === "a" ? work() : 0));
      meanwhile.catch(({ message }: Error) => log.push(`a hears that ${message}`));
      try {
        for (let i = 0; i < round; i++) await ask(`Sure ${i}?`, form);
        return `done by ${node}`;
      } finally {
        log.push(`${node} leaves`);
      }
    });
    let asked = askedBy(await call("a"));
    if (round === 2) asked = askedBy(await call("a", { state: asked.state, answers: { "ask-1": yes } }));
    const answers = { [`ask-${round}`]: yes };
    expect(textOf(await call("b", { state: asked.state, answers }))).toBe("done by b");
    later.open();
    await clock.advanceAsync(600_000);
    expect(log).toEqual(["b leaves", "a hears that this process has lost the run: another process continues it"]);
  });

  it("keeps what it does meanwhile", async () => {
    const [later, done] = [gate(), gate()];
    const log: string[] = [];
    const { call, passing, process } = cluster(async ({ ask, step }, node) => {
      const meanwhile = later.opened.then(() => step("meanwhile", () => log.push(node))).then(() => done.open());
      await ask("Sure?", form);
      await meanwhile;
      if (node === "a") {
        process("a").kill();
        await new Promise(() => {});
      }
      return `done by ${node}`;
    });
    const { state } = askedBy(await call("a"));
    later.open();
    await done.opened;
    void call("a", { state, answers: { "ask-1": yes } });
    await process("a").death;
    expect(textOf(await passing(call("b", { state, answers: { "ask-1": yes } })))).toBe("done by b");
    expect(log).toEqual(["a"]);
  });
});

describe("a store that fails", () => {
  it("fails the call that continues another, which can be tried again", async () => {
    const { call, faults, shared } = cluster(trip().run);
    const { state } = askedBy(await call("a"));
    const answers = { "ask-1": yes };
    const broken = vi.spyOn(shared.streams, "read").mockRejectedValue(new StoreError("unavailable", "no route"));
    expect(await call("a", { state, answers })).toMatchObject({ result: { isError: true } });
    broken.mockRestore();
    expect(faults).toMatchObject([[{ code: "unavailable" }, { method: "tools/call", name: "it" }]]);
    expect(Object.keys(askedBy(await call("b", { state, answers })).questions)).toEqual(["ask-2"]);
  });

  it("does not keep an outcome from its caller, and is reported", async () => {
    const { call, faults, shared } = cluster(() => "done");
    vi.spyOn(shared.streams, "append").mockRejectedValue(new StoreError("unavailable", "no route"));
    expect(textOf(await call("a", { key }))).toBe("done");
    expect(faults).toMatchObject([[{ code: "unavailable" }, { method: "tools/call", name: "it" }]]);
  });
});

describe("state keys", () => {
  const durable = (): Store => ({ ...memoryStore(), durable: true });
  const warnings = () => vi.spyOn(console, "warn").mockImplementation(() => {});
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  it.each([
    ["outlives its process", durable()],
    ["ends with its process", memoryStore()],
  ])("that are missing are asked for, once, where a store %s", async (_, store) => {
    const warn = warnings();
    const { call } = cluster(trip().run, { stateKeys: undefined as never, store });
    expect(warn).not.toHaveBeenCalled();
    for (let i = 0; i < 2; i++) askedBy(await call("a"));
    expect(warn.mock.calls).toEqual([[expect.stringContaining("set PLUGBAY_STATE_KEYS")]]);
  });

  it("are not asked for when there are some", async () => {
    const warn = warnings();
    askedBy(await cluster(trip().run, { store: durable() }).call("a"));
    expect(warn).not.toHaveBeenCalled();
  });

  it("may come from the environment", async () => {
    const warn = warnings();
    vi.stubEnv(
      "PLUGBAY_STATE_KEYS",
      "KjcaM2Cp773umIsMsIrgrqqrIWpFK13NUDZOpyAvumk, hPb2DqxzFZUZgs8vbb69vU--iUVGeQ0lZLNMa9h9rEU,",
    );
    const { call, clock } = cluster(trip().run, { stateKeys: undefined as never, store: durable() });
    const { state } = askedBy(await call("a"));
    expect(askedBy(await call("b", { state, answers: { "ask-1": yes } })).state).not.toBe(state);
    vi.stubEnv("PLUGBAY_STATE_KEYS", "hPb2DqxzFZUZgs8vbb69vU--iUVGeQ0lZLNMa9h9rEU");
    const old = cluster(trip().run, { stateKeys: undefined as never });
    const issued = askedBy(await old.call("a"));
    expect((await call("c", { state: issued.state, answers: { "ask-1": yes } })).kind).toBe("input-required");
    await clock.advanceAsync(0);
    expect(warn).not.toHaveBeenCalled();
  });

  it("from the environment must be random, too (S13)", () => {
    vi.stubEnv("PLUGBAY_STATE_KEYS", "short");
    const make = () => cluster(trip().run, { stateKeys: undefined as never });
    expect(make).toThrow("key 1 of PLUGBAY_STATE_KEYS must be 32 random bytes or more");
  });
});
