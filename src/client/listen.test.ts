import { describe, expect, it } from "vitest";
import type { Connection, Ending } from "../protocol/connection.ts";
import type { Params } from "../protocol/methods.ts";
import type { ServerCapabilities } from "../protocol/peer.ts";
import type { Call, Outcome, Service } from "../protocol/service.ts";
import { createManualClock } from "../testing/clock.ts";
import { type ClientOptions, createClient } from "./client.ts";
import type { Watch } from "./listen.ts";
import { createRequestHandlers } from "./request-handlers.ts";

const announcing: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
};

/** A server that lists one tool for a minute, and listeners the test talks to. */
function setUp(options: ClientOptions & { readonly server?: ServerCapabilities; readonly confirms?: boolean } = {}) {
  const { server = announcing, confirms = true, ...rest } = options;
  const clock = createManualClock();
  const listens: { readonly call: Call; settle(outcome: Outcome): void }[] = [];
  let lists = 0;
  let end = (_: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const service = async (call: Call): Promise<Outcome> => {
    if (call.method !== "subscriptions/listen") {
      lists++;
      const tools = [{ name: "count", inputSchema: { type: "object" }, outputSchema: { type: "object" } }];
      return { kind: "complete", result: { tools, ttlMs: 60_000, content: [], structuredContent: "wrong" } };
    }
    const { notifications } = call.params as Params<"subscriptions/listen">;
    if (confirms) call.notify("notifications/subscriptions/acknowledged", { notifications: { ...notifications } });
    return new Promise((settle) => {
      listens.push({ call, settle });
    });
  };
  const connection: Connection = {
    service: service as Service,
    revision: "2026-07-28",
    server: { supportedVersions: [], capabilities: server, serverInfo: { name: "shop", version: "1" } },
    peer: { revision: "2026-07-28", capabilities: {} },
    ended,
    close: async () => end(undefined),
  };
  const client = createClient(connection, createRequestHandlers(rest), { clock, ...rest });
  const tell = (method: string, params = {}, index = 0) =>
    listens[index]?.call.notify(`notifications/${method}`, params);
  return { client, clock, end, listens, listCount: () => lists, tell };
}

/** What a watch gives until it ends. */
async function readAll<T>(watch: Watch<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of watch) items.push(item);
  return items;
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("watch", () => {
  it("asks for the resource when it is made, and tells of its updates", async () => {
    const { client, listens, tell } = setUp();
    const watch = client.watch("stock://a");
    expect(listens[0]?.call.params).toEqual({ notifications: { resourceSubscriptions: ["stock://a"] } });
    await watch.ready;
    tell("resources/updated", { uri: "stock://a" });
    for await (const update of watch) {
      expect(update).toEqual({ uri: "stock://a" });
      break;
    }
  });

  it("loses nothing between the confirmation and the first read; the same thing waits once", async () => {
    const { client, tell } = setUp();
    const abort = new AbortController();
    const watch = client.watch("stock://a", { signal: abort.signal });
    for (const uri of ["stock://a", "stock://a/part", "stock://a"]) tell("resources/updated", { uri });
    abort.abort();
    expect(await readAll(watch)).toEqual([{ uri: "stock://a" }, { uri: "stock://a/part" }]);
  });

  it("tells of a thing again when it changes after it was read", async () => {
    const { client, tell } = setUp();
    const iterator = client.watch("stock://a")[Symbol.asyncIterator]();
    for (let count = 0; count < 3; count++) {
      const next = iterator.next();
      tell("resources/updated", { uri: "stock://a" });
      expect(await next).toEqual({ done: false, value: { uri: "stock://a" } });
    }
  });

  it("ends the call when the reader leaves the loop", async () => {
    const { client, listens, tell } = setUp();
    tell("resources/updated", { uri: "stock://a" });
    const watch = client.watch("stock://a");
    tell("resources/updated", { uri: "stock://a" });
    for await (const _ of watch) break;
    expect(listens[0]?.call.signal.aborted).toBe(true);
    expect(await readAll(watch)).toEqual([]);
  });

  it("ends the call with its block", async () => {
    const { client, listens } = setUp();
    {
      await using watch = client.watch("stock://a");
      await watch.ready;
    }
    expect(listens[0]?.call.signal.aborted).toBe(true);
  });

  it("ignores what was not asked for", async () => {
    const { client, tell } = setUp();
    const abort = new AbortController();
    const watch = client.watch("stock://a", { signal: abort.signal });
    tell("tools/list_changed");
    tell("resources/updated", {});
    tell("custom");
    abort.abort();
    expect(await readAll(watch)).toEqual([]);
  });

  it("lets several watch the same resource", async () => {
    const { client, tell } = setUp();
    const watches = [client.watch("stock://a"), client.watch("stock://a")];
    const reads = watches.map((watch) => watch[Symbol.asyncIterator]().next());
    tell("resources/updated", { uri: "stock://a" }, 0);
    tell("resources/updated", { uri: "stock://a" }, 1);
    expect(await Promise.all(reads)).toHaveLength(2);
  });

  it("fails when the reader falls too far behind, instead of losing changes", async () => {
    const { client, listens, tell } = setUp();
    const watch = client.watch("stock://a");
    for (let index = 0; index < 1025; index++) tell("resources/updated", { uri: `stock://a/${index}` });
    await expect(readAll(watch)).rejects.toMatchObject({ code: "limit-reached" });
    expect(listens[0]?.call.signal.aborted).toBe(true);
  });
});

describe("changes", () => {
  it("asks for the kinds that are wanted, or for all that are announced", () => {
    const { client, listens } = setUp({ server: { tools: { listChanged: true }, prompts: { listChanged: true } } });
    client.changes({ prompts: true, tools: false });
    client.changes();
    expect(listens.map(({ call }) => call.params)).toEqual([
      { notifications: { promptsListChanged: true } },
      { notifications: { toolsListChanged: true, promptsListChanged: true } },
    ]);
  });

  it("tells of each kind once until it is read", async () => {
    const { client, tell } = setUp();
    const abort = new AbortController();
    const changes = client.changes({}, { signal: abort.signal });
    for (const kind of ["tools", "prompts", "tools", "resources", "prompts"]) tell(`${kind}/list_changed`);
    abort.abort();
    expect(await readAll(changes)).toEqual([{ kind: "tools" }, { kind: "prompts" }, { kind: "resources" }]);
  });

  it("drops kept lists and output schemas at once, read or not", async () => {
    const { client, listCount, tell } = setUp();
    await client.listTools();
    await expect(client.callTool("count")).rejects.toMatchObject({ code: "invalid-response" });
    await client.listTools();
    expect(listCount()).toBe(2);
    client.changes({ tools: true });
    tell("tools/list_changed");
    expect(await client.callTool("count")).toMatchObject({ structuredContent: "wrong" });
    await client.listTools();
    expect(listCount()).toBe(4);
  });

  it("warns of what the server does not honour", async () => {
    const warnings: unknown[] = [];
    const { client, tell } = setUp({ confirms: false, onWarning: (warning) => warnings.push(warning) });
    const changes = client.changes({ tools: true, prompts: true });
    tell("subscriptions/acknowledged", { notifications: { toolsListChanged: true } });
    await changes.ready;
    expect(warnings).toEqual([{ kind: "not-honoured", message: 'server "shop" does not announce changes of prompts' }]);
  });

  it("fails when the server honours nothing", async () => {
    const { client, listens, tell } = setUp({ confirms: false });
    const changes = client.changes({ tools: true });
    tell("subscriptions/acknowledged", { notifications: {} });
    const error = { code: "unsupported", message: 'server "shop" does not announce changes of tools' };
    await expect(changes.ready).rejects.toMatchObject(error);
    await expect(readAll(changes)).rejects.toMatchObject(error);
    expect(listens[0]?.call.signal.aborted).toBe(true);
  });
});

describe("the end of a watch", () => {
  it("is no error when the client is closed", async () => {
    const { client, clock } = setUp();
    const items = readAll(client.changes());
    await client.close();
    clock.advance(0);
    expect(await items).toEqual([]);
  });

  it("is an error when the connection breaks", async () => {
    const { client, clock, end } = setUp();
    const items = readAll(client.changes());
    items.catch(() => {});
    end({ code: "connection-closed", message: "gone" });
    await settled();
    clock.advance(0);
    await expect(items).rejects.toMatchObject({ code: "connection-closed" });
  });

  it("is no error when the server says goodbye", async () => {
    const { client, listens } = setUp();
    const items = readAll(client.changes());
    listens[0]?.settle({ kind: "complete", result: {} });
    expect(await items).toEqual([]);
  });

  it("is an error when the server refuses, or ends before it has confirmed", async () => {
    const { client, listens } = setUp({ confirms: false });
    const refused = client.changes();
    const ended = client.changes();
    listens[0]?.settle({ kind: "failed", failure: { code: "method-not-found", message: "no such method" } });
    listens[1]?.settle({ kind: "complete", result: {} });
    await expect(refused.ready).rejects.toMatchObject({ code: "method-not-found" });
    await expect(ended.ready).rejects.toMatchObject({ code: "invalid-response" });
    await expect(readAll(ended)).rejects.toMatchObject({ code: "invalid-response" });
  });

  it("comes by itself when the server does not confirm in time, but never after", async () => {
    const { client, clock, tell } = setUp({ confirms: false });
    const late = client.changes({}, { timeoutMs: 500 });
    const confirmed = client.changes();
    tell("subscriptions/acknowledged", {}, 1);
    clock.advance(500);
    await expect(late.ready).rejects.toMatchObject({
      code: "timeout",
      message: 'subscriptions/listen on server "shop" was not confirmed within 500 ms (timeoutMs of the watch)',
    });
    clock.advance(1e9);
    const next = confirmed[Symbol.asyncIterator]().next();
    tell("tools/list_changed", {}, 1);
    expect(await next).toEqual({ done: false, value: { kind: "tools" } });
  });

  it("comes at once when the signal is already aborted, without a call", async () => {
    const { client, listens } = setUp();
    const watch = client.watch("stock://a", { signal: AbortSignal.abort("no") });
    expect(await readAll(watch)).toEqual([]);
    await expect(watch.ready).rejects.toMatchObject({ code: "cancelled", cause: "no" });
    expect(listens).toEqual([]);
  });

  it("leaves no timer and no listener behind", async () => {
    const { client, clock } = setUp();
    const abort = new AbortController();
    const watch = client.watch("stock://a", { signal: abort.signal });
    await watch[Symbol.asyncDispose]();
    expect(clock.pending).toBe(0);
  });
});
