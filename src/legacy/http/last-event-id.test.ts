import { describe, expect, it } from "vitest";
import { callOf, messagesOf, serveFake } from "../../../test/support/fake-endpoint.ts";
import type { FakeReply } from "../../../test/support/fake-reply.ts";
import { eventually } from "../../../test/support/patience.ts";
import { gate } from "../../../test/support/served.ts";
import { readBlocks } from "../../../test/support/sse-text.ts";
import { createServer, tool } from "../../server/index.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { createManualClock } from "../../testing/clock.ts";

const toolsChanged = "notifications/tools/list_changed";
const truncated = "notifications/replay_truncated";

/** A server whose tools say something now and then, on an endpoint that keeps sessions here or in a store. */
function serve(keeps: "memory" | "store") {
  const clock = createManualClock();
  const { opened, open: release } = gate();
  const server = createServer({
    name: "s",
    version: "1",
    clock,
    logging: true,
    listChanged: true,
    tools: {
      count: tool({
        async run(_, { log }) {
          for (const n of [1, 2, 3]) await log("info", n);
          return "counted";
        },
      }),
      poll: tool({
        async run(_, { closeStream }) {
          closeStream();
          await opened;
          return "polled";
        },
      }),
    },
    ...(keeps === "store" && { store: memoryStore({ clock }) }),
  });
  const fake = serveFake(server, { clock });
  const get = async (session: Readonly<Record<string, string>>, id?: string): Promise<FakeReply> => {
    const reply = fake.get({ ...session, ...(id !== undefined && { "last-event-id": id }) });
    await reply.begun;
    await clock.advanceAsync(0);
    return reply;
  };
  return { ...fake, server, clock, get, release };
}

const ids = (reply: FakeReply) => readBlocks(reply.sink?.text ?? "").flatMap(({ id }) => id ?? []);
const said = (reply: FakeReply) => messagesOf(reply).map(({ method, result }) => method ?? result);
const polled = { content: [{ type: "text", text: "polled" }] };

/** The id of an event that is yet to come: one of the numbers in it is larger. */
function later(id: string, which = -1): string {
  const numbers = [...id.matchAll(/-(\d+)(?=-|$)/g)];
  const match = numbers.at(which);
  if (match === undefined) throw new Error(`no number in ${id}`);
  return `${id.slice(0, match.index)}-${Number(match[1]) + 100}${id.slice(match.index + match[0].length)}`;
}

describe.each(["memory", "store"] as const)("a Last-Event-ID that was never sent, sessions in a %s", (keeps) => {
  it("of a call that goes on: the client hears that events are missing, and then the rest (C109)", async () => {
    const { open, post, get, release } = serve(keeps);
    const session = await open("2025-11-25");
    const call = post(callOf(1, "poll"), session);
    await eventually(() => expect(call.sink?.state).toBe("ended"));
    const [prime = ""] = ids(call);
    const again = await get(session, later(prime));
    expect(said(again)).toEqual([truncated]);
    // Who breaks off now comes back with an id that is known.
    expect(ids(again)).toEqual([prime]);
    release();
    await eventually(() => expect(again.sink?.state).toBe("ended"));
    expect(said(again)).toEqual([truncated, polled]);
    expect(said(await get(session, ids(again).at(0)))).toEqual([polled]);
  });

  it.each(["2025-11-25", "2025-06-18"])(
    "of a call that is over: a client of %s hears that events are missing, and that nothing follows (C109)",
    async (revision) => {
      const { open, post, get } = serve(keeps);
      const session = await open(revision);
      const call = post(callOf(1, "count"), session);
      await eventually(() => expect(call.sink?.state ?? call.sent?.status).toBeDefined());
      await eventually(() => expect(messagesOf(call)).toHaveLength(4));
      const last = readBlocks(call.sink?.text ?? call.sent?.body ?? "").at(-1)?.id ?? "";
      expect((await get(session, last)).sent?.status).toBe(405);
      const again = await get(session, later(last));
      expect(said(again)).toEqual([truncated]);
      await eventually(() => expect(again.sink?.state).toBe("ended"));
    },
  );

  it("of a response that came alone: the client hears that events are missing, and what follows (C109)", async () => {
    const { open, post, get, server } = serve(keeps);
    const session = await open("2025-06-18");
    const call = post(callOf(1, "count"), session);
    await eventually(() => expect(messagesOf(call)).toHaveLength(4));
    const again = await get(session, "0-12345");
    expect(said(again)).toEqual([truncated]);
    server.listChanged("tools");
    await eventually(() => expect(said(again)).toEqual([truncated, toolsChanged]));
  });

  it.each(keeps === "memory" ? [1] : [0, 1])(
    "of what belongs to no call: the client hears that events are missing, and what follows for number %i of its id (C109)",
    async (which) => {
      const { open, get, server, clock } = serve(keeps);
      const session = await open("2025-11-25");
      const news = await get(session);
      const [prime = ""] = ids(news);
      news.leave();
      await clock.advanceAsync(0);
      const again = await get(session, later(prime, which));
      expect(said(again)[0]).toBe(truncated);
      const heard = said(again).length;
      server.listChanged("tools");
      // What was lost among changes is looked at again in a while.
      await clock.advanceAsync(10_000);
      await eventually(() => expect(said(again).slice(heard)).toEqual([toolsChanged]));
    },
  );
});
