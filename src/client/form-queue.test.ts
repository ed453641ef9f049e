import { describe, expect, it, vi } from "vitest";
import { connect, dial } from "../connect/connect.ts";
import { createHost } from "../host/host.ts";
import type { Revision } from "../protocol/revision.ts";
import { createServer, tool } from "../server/index.ts";
import { createFormQueue } from "./form-queue.ts";

const form = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;

const asking = () =>
  createServer({
    name: "asking",
    version: "1",
    tools: { ask: tool({ run: async (_, ctx) => String((await ctx.ask("Which?", form)).n) }) },
  });

/** Somebody who fills forms when told to. */
function user() {
  const open: (() => void)[] = [];
  let seen = 0;
  return {
    onElicit: () =>
      new Promise<{ readonly n: number }>((resolve) => {
        const n = ++seen;
        open.push(() => resolve({ n }));
      }),
    open,
    fill: () => open.shift()?.(),
  };
}

describe.each(["2026-07-28", "2025-11-25"] as const)("at most 4 forms of one server, %s", (revision: Revision) => {
  it("are open at a time with a client, others wait in their order (H10)", async () => {
    const { onElicit, open, fill } = user();
    await using client = await connect(asking(), { revision, onElicit });
    const calls = Array.from({ length: 10 }, () => client.callTool("ask"));
    await vi.waitFor(() => expect(open).toHaveLength(4));
    for (let done = 1; done <= 6; done++) {
      fill();
      await vi.waitFor(() => expect(open).toHaveLength(Math.min(4, 10 - done)));
    }
    while (open.length > 0) fill();
    expect((await Promise.all(calls)).every(({ isError }) => isError !== true)).toBe(true);
  });

  it("are open at a time in a host, also over several connections, and other servers are not held up (H10)", async () => {
    const shown: string[] = [];
    const specs = {
      a: { target: asking(), connectOptions: { revision } },
      b: { target: asking(), connectOptions: { revision } },
    };
    const options = {
      onElicit: (_: unknown, { server }: { readonly server: string }) => {
        shown.push(server);
        return new Promise<never>(() => {});
      },
    };
    await using host = createHost(specs, options, { dial });
    const call = (name: string) => host.callTool(name).catch(() => {});
    for (let n = 0; n < 6; n++) void call("a:ask");
    await vi.waitFor(() => expect(shown).toHaveLength(4));
    host.restart("a");
    void call("a:ask");
    void call("b:ask");
    await vi.waitFor(() => expect(shown).toContain("b"));
    expect(shown.filter((server) => server === "a")).toHaveLength(4);
  });
});

describe("createFormQueue", () => {
  const never = new AbortController().signal;

  it("does not show what nobody waits for any more", async () => {
    const forms = createFormQueue();
    const shown: number[] = [];
    let end = (): void => {};
    const first = [1, 2, 3, 4].map((n) =>
      forms.show(never, async () => {
        shown.push(n);
        if (n === 1) await new Promise<void>((resolve) => (end = resolve));
        else await new Promise(() => {});
      }),
    );
    const abort = new AbortController();
    const given = forms.show(abort.signal, async () => shown.push(5));
    const next = forms.show(never, async () => shown.push(6));
    abort.abort();
    await expect(given).rejects.toMatchObject({ code: "cancelled" });
    end();
    await first[0];
    await next;
    expect(shown).toEqual([1, 2, 3, 4, 6]);
    await expect(forms.show(AbortSignal.abort(), async () => 7)).rejects.toMatchObject({ code: "cancelled" });
  });

  it("refuses what would wait behind too many, and gives on what a form comes to", async () => {
    const forms = createFormQueue();
    for (let n = 0; n < 104; n++) void forms.show(never, () => new Promise(() => {}));
    await expect(forms.show(never, async () => 1)).rejects.toMatchObject({ code: "limit-reached" });
    const other = createFormQueue();
    expect(await other.show(never, async () => 1)).toBe(1);
    await expect(other.show(never, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  });
});
