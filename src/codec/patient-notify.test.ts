import { describe, expect, it, vi } from "vitest";
import { eventually } from "../../test/support/patience.ts";
import { gate } from "../../test/support/served.ts";
import type { JsonObject } from "../json/json.ts";
import { patientNotify } from "./patient-notify.ts";

/** A reader that is slow for as long as its gates are closed. */
function slowly(...gates: readonly Promise<void>[]) {
  const sent: [string, JsonObject][] = [];
  const notify = patientNotify((method, params) => {
    sent.push([method, params]);
    return gates[sent.length - 1];
  });
  const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
  return { sent, notify, settled };
}

describe("patientNotify", () => {
  it("sends at once to a reader that keeps up", () => {
    const { sent, notify } = slowly();
    expect(notify("a", { n: 1 })).toBeUndefined();
    expect(notify("a", { n: 2 })).toBeUndefined();
    expect(sent).toEqual([
      ["a", { n: 1 }],
      ["a", { n: 2 }],
    ]);
  });

  it("keeps the last of the same news for a slow one, in the order in which they first came", async () => {
    const { opened, open } = gate();
    const { sent, notify, settled } = slowly(opened);
    expect(notify("a", {})).toBe(opened);
    notify("updated", { uri: "x", n: 1 });
    notify("a", {});
    notify("updated", { uri: "y" });
    for (let n = 2; n < 1_000; n++) notify("updated", { uri: "x", n });
    await settled();
    expect(sent).toHaveLength(1);
    open();
    await settled();
    expect(sent.slice(1)).toEqual([
      ["updated", { uri: "x", n: 999 }],
      ["a", {}],
      ["updated", { uri: "y" }],
    ]);
    notify("a", { n: 3 });
    expect(sent).toHaveLength(5);
  });

  it("keeps the last of every task", async () => {
    const { opened, open } = gate();
    const { sent, notify, settled } = slowly(opened);
    notify("a", {});
    for (const n of [1, 2]) for (const taskId of ["x", "y"]) notify("tasks", { taskId, n });
    open();
    await settled();
    expect(sent.slice(1)).toEqual([
      ["tasks", { taskId: "x", n: 2 }],
      ["tasks", { taskId: "y", n: 2 }],
    ]);
  });

  it("waits again when the reader falls behind again, and loses nothing that came meanwhile", async () => {
    const [first, second] = [gate(), gate()];
    const { sent, notify, settled } = slowly(first.opened, second.opened);
    notify("a", {});
    notify("b", {});
    notify("c", {});
    first.open();
    await settled();
    expect(sent.map(([method]) => method)).toEqual(["a", "b"]);
    notify("b", {});
    notify("d", {});
    second.open();
    await settled();
    expect(sent.map(([method]) => method)).toEqual(["a", "b", "c", "b", "d"]);
  });

  it("is not stopped by news that cannot be sent", async () => {
    const said = vi.spyOn(console, "error").mockReturnValue();
    const { opened, open } = gate();
    const sent: string[] = [];
    const notify = patientNotify((method) => {
      if (method === "bad") throw new TypeError("no JSON");
      sent.push(method);
      return sent.length === 1 ? opened : undefined;
    });
    expect(() => notify("bad", {})).toThrow("no JSON");
    notify("a", {});
    notify("bad", {});
    notify("b", {});
    open();
    await eventually(() => expect(sent).toEqual(["a", "b"]));
    expect(said).toHaveBeenCalledOnce();
    said.mockRestore();
  });
});
