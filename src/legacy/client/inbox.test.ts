import { describe, expect, it } from "vitest";
import type { Incoming } from "../../jsonrpc/message.ts";
import { createInbox } from "./inbox.ts";

const batch = (id: number): readonly Incoming[] => [{ kind: "success", id, result: {} }];

describe("createInbox", () => {
  it("asks to wait when more than a few arrays are unread, until they are read", async () => {
    const inbox = createInbox();
    const waits = [1, 2, 3, 4, 5, 6].map((id) => inbox.put(batch(id)));
    expect(waits.map((wait) => wait !== undefined)).toEqual([false, false, false, false, true, true]);
    let released = false;
    void waits[4]?.then(() => {
      released = true;
    });
    const reader = inbox.incoming[Symbol.asyncIterator]();
    for (const id of [1, 2]) expect((await reader.next()).value).toEqual(batch(id));
    expect(released).toBe(false);
    await reader.next();
    await waits[5];
    expect(released).toBe(true);
    expect(inbox.put(batch(7))).toBeUndefined();
  });

  it.each(["end", "fail"] as const)("lets everybody go on %s", async (how) => {
    const inbox = createInbox();
    const waits = [1, 2, 3, 4, 5].map((id) => inbox.put(batch(id)));
    inbox[how](new Error("over"));
    await expect(waits[4]).resolves.toBeUndefined();
  });

  it("throws the error it failed with, after what had arrived", async () => {
    const inbox = createInbox();
    inbox.put(batch(1));
    inbox.fail(new Error("over"));
    const reader = inbox.incoming[Symbol.asyncIterator]();
    expect((await reader.next()).value).toEqual(batch(1));
    await expect(reader.next()).rejects.toThrow("over");
  });
});
