import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { connect } from "../../src/connect/connect.ts";
import { type Context, createServer, type ServerOptions, tool } from "../../src/server/index.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import type { Store } from "../../src/store/store.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { lineChannel } from "../../src/transport/node/line-channel.ts";
import { type ServeHttpOptions, serveHttp } from "../../src/transport/node/serve-http.ts";
import { serveStdio } from "../../src/transport/node/serve-stdio.ts";
import { callOf } from "../support/fake-endpoint.ts";
import { eventually } from "../support/patience.ts";
import { createRawClient, openRawSession } from "../support/raw-http.ts";

const old = { revision: "2025-11-25" } as const;

/** A server whose tools count the calls of a session. */
function createShop(options: Partial<ServerOptions> = {}) {
  const log: string[] = [];
  const ids = new Map<string, string>();
  const nameOf = (id: string): string => {
    const name = ids.get(id) ?? `s${ids.size + 1}`;
    ids.set(id, name);
    return name;
  };
  const count = async (_: unknown, { session }: Context): Promise<string> => {
    const after = await session?.state.update((before) => ({ count: Number(before?.count ?? 0) + 1 }));
    return session === undefined ? "no session" : `${nameOf(session.id)} ${after?.count}`;
  };
  const server = createServer({
    name: "shop",
    version: "1.0.0",
    tools: { count: tool({ run: count }) },
    onConnect: async ({ id, state }, { client }) => {
      await state.set({ count: 10 });
      log.push(`connect ${nameOf(id)} ${client.revision}`);
    },
    onDisconnect: async ({ id, state }) => {
      log.push(`disconnect ${nameOf(id)} ${(await state.get())?.count}`);
    },
    ...options,
  });
  return { server, log };
}

const textOf = async (client: Awaited<ReturnType<typeof connect>>): Promise<unknown> =>
  (await client.callTool("count")).content[0];
const says = (text: string) => ({ type: "text", text });

/** The names of what is kept for sessions, of those that a store could have. */
const spy = (store: Store): { readonly store: Store; readonly kept: () => readonly string[] } => {
  const names = new Set<string>();
  const put: Store["values"]["put"] = (name, ...rest) => {
    if (name.includes("state:session:")) names.add(name);
    return store.values.put(name, ...rest);
  };
  const values = { ...store.values, put };
  const kept = () => [...names].filter((name) => store.values.get(name) !== undefined);
  return { store: { ...store, values }, kept };
};

describe("ctx.session", () => {
  it("has a state of its own for each session over HTTP, and is told of its beginning and end", async () => {
    const { store, kept } = spy(memoryStore());
    const { server, log } = createShop({ store });
    const serving = await serveHttp(server, { port: 0 });
    const [one, other] = [await connect(serving.url, old), await connect(serving.url, old)];
    expect(await textOf(one)).toEqual(says("s1 11"));
    expect(await textOf(one)).toEqual(says("s1 12"));
    expect(await textOf(other)).toEqual(says("s2 11"));
    expect(kept()).toHaveLength(2);
    await one.close();
    await eventually(() => expect(log.at(-1)).toBe("disconnect s1 12"));
    await eventually(() => expect(kept()).toHaveLength(1));
    await other.close();
    await eventually(() => expect(kept()).toEqual([]));
    expect(log).toEqual(["connect s1 2025-11-25", "connect s2 2025-11-25", "disconnect s1 12", "disconnect s2 11"]);
    await serving.close();
    await server.close();
    expect(log).toHaveLength(4);
  });

  it("goes on after a rest, and ends when the endpoint is closed", async () => {
    const clock = createManualClock();
    const { server, log } = createShop();
    const serving = await serveHttp(server, { port: 0, clock });
    const session = await openRawSession(createRawClient(serving.port));
    const call = async () => (await session.post(callOf(1, "count"))).body;
    expect(await call()).toContain("s1 11");
    for (let rest = 0; rest < 5; rest++) await clock.advanceAsync(1_000);
    expect(await call()).toContain("s1 12");
    expect(log).toEqual(["connect s1 2025-11-25"]);
    await serving.close();
    expect(log).toEqual(["connect s1 2025-11-25", "disconnect s1 12"]);
  });

  it("ends when its time is over", async () => {
    const clock = createManualClock();
    const { server, log } = createShop();
    await using serving = await serveHttp(server, { port: 0, clock, sessionTtlMs: 1_000 });
    await openRawSession(createRawClient(serving.port));
    await eventually(async () => {
      await clock.advanceAsync(1_000);
      expect(log).toEqual(["connect s1 2025-11-25", "disconnect s1 10"]);
    });
  });

  it("is the same in all processes that share a store, and ends once", async () => {
    const store = memoryStore();
    const logs = [createShop({ store }), createShop({ store })];
    const options: ServeHttpOptions = { port: 0 };
    const [here, there] = await Promise.all(logs.map(({ server }) => serveHttp(server, options)));
    if (here === undefined || there === undefined) throw new Error("not served");
    const session = await openRawSession(createRawClient(here.port));
    const elsewhere = createRawClient(there.port);
    const answer = await elsewhere.request({ headers: session.headers, body: callOf(1, "count") });
    expect(answer.body).toContain("s1 11");
    expect((await elsewhere.request({ method: "DELETE", headers: session.headers })).status).toBe(204);
    await eventually(() => expect(logs.flatMap(({ log }) => log)).toContain("disconnect s1 11"));
    await here.close();
    await there.close();
    await Promise.all(logs.map(({ server }) => server.close()));
    expect(logs.flatMap(({ log }) => log.filter((line) => line.startsWith("disconnect")))).toHaveLength(1);
  });

  it.each(["close", "kill"] as const)("ends over stdio when the client goes: %s", async (way) => {
    const { server, log } = createShop();
    const [input, output] = [new PassThrough(), new PassThrough()];
    const serving = await serveStdio(server, { stdin: input, stdout: output, exit: false, signals: false });
    const client = await connect(lineChannel(output, input), old);
    expect(await textOf(client)).toEqual(says("s1 11"));
    if (way === "kill") input.destroy();
    else await client.close();
    await serving.closed;
    await server.close();
    expect(log).toEqual(["connect s1 2025-11-25", "disconnect s1 11"]);
    await client.close();
  });

  it("is undefined for clients of 2026-07-28, over any transport, and in the same process", async () => {
    const { server, log } = createShop();
    await using serving = await serveHttp(server, { port: 0 });
    await using http = await connect(serving.url);
    await using here = await connect(server);
    const [input, output] = [new PassThrough(), new PassThrough()];
    const piped = await serveStdio(server, { stdin: input, stdout: output, exit: false, signals: false });
    const stdio = await connect(lineChannel(output, input));
    for (const client of [http, here, stdio]) expect(await textOf(client)).toEqual(says("no session"));
    await stdio.close();
    await piped.closed;
    expect(log).toEqual([]);
  });

  it("begins all the same when onConnect throws, and onError hears of that", async () => {
    const errors: unknown[] = [];
    const broken = new Error("broken");
    const onError = (error: unknown): number => errors.push(error);
    const { server } = createShop({ onError, onConnect: () => Promise.reject(broken) });
    await using serving = await serveHttp(server, { port: 0 });
    await using client = await connect(serving.url, old);
    expect(await textOf(client)).toEqual(says("s1 1"));
    expect(errors).toEqual([broken]);
  });

  it("is in nothing that is written down of a client", async () => {
    const seen = tool({ run: (_, { client, session }) => `${JSON.stringify(client).includes(String(session?.id))}` });
    const server = createServer({ name: "shop", version: "1.0.0", tools: { seen } });
    await using serving = await serveHttp(server, { port: 0 });
    await using client = await connect(serving.url, old);
    expect(await client.callTool("seen")).toMatchObject({ content: [says("false")] });
  });
});
