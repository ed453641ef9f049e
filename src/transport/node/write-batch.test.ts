import { describe, expect, it } from "vitest";
import { createEndings } from "./write-batch.ts";

/** Endings in turns that end when the test says so. */
function turns() {
  const log: string[] = [];
  const later: (() => void)[] = [];
  let time = 0;
  const endings = createEndings(
    (act) => later.push(act),
    () => time,
  );
  let made = 0;
  const add = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const name = made++;
      endings.add({ finish: (isAlone) => log.push(`${name}${isAlone ? " alone" : ""}`) });
    }
  };
  const endTurn = (): void => {
    for (const act of later.splice(0)) act();
  };
  /** What was finished since the last time. */
  const finished = (): readonly string[] => log.splice(0);
  return { add, endTurn, finished, pass: (ms: number) => (time += ms) };
}

/** Turns with many, until they wait for each other. */
function together() {
  const all = turns();
  all.add(64);
  all.endTurn();
  all.finished();
  return all;
}

describe("the end of a turn", () => {
  it("is not waited for by what comes alone, turn after turn", () => {
    const { add, endTurn, finished } = turns();
    for (let turn = 0; turn < 100; turn++) {
      add(1);
      expect(finished()).toEqual([`${turn} alone`]);
      endTurn();
    }
  });

  it.each([2, 3, 4, 5, 8, 16, 64])(
    "is waited for before long where %i come in a turn, and they keep their order",
    (count) => {
      const { add, endTurn, finished } = turns();
      let waits = false;
      for (let turn = 0; turn < 100 && !waits; turn++) {
        add(count);
        waits = finished().length === 0;
        endTurn();
      }
      expect(waits).toBe(true);
      const names = finished().map(Number);
      expect(names).toHaveLength(count);
      expect(names).toEqual(names.toSorted((a, b) => a - b));
    },
  );

  it("is not waited for any more after turns with one", () => {
    const { add, endTurn, finished } = together();
    let waits = 0;
    for (let turn = 0; turn < 100; turn++) {
      add(1);
      waits += finished().length === 0 ? 1 : 0;
      endTurn();
      finished();
    }
    expect(waits).toBe(17);
  });

  it.each([2, 20])("is waited for by %i, however long that goes on", (count) => {
    const { add, endTurn, finished } = together();
    for (let turn = 0; turn < 100; turn++) {
      add(count);
      expect(finished()).toEqual([]);
      endTurn();
      expect(finished()).toHaveLength(count);
    }
  });

  it("is not waited for longer than a moment", () => {
    const { add, endTurn, finished, pass } = together();
    add(2);
    pass(0.9);
    add(1);
    expect(finished()).toEqual([]);
    pass(0.2);
    add(1);
    expect(finished()).toEqual(["64", "65", "66", "67"]);
    add(1);
    expect(finished()).toEqual([]);
    endTurn();
    expect(finished()).toEqual(["68"]);
  });
});
