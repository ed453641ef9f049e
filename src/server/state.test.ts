import { describe, expect, it } from "vitest";
import { peer, send } from "../../test/support/direct.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Context } from "./context.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

type Auth = NonNullable<Context["auth"]>;

/** A server that hands the state of its caller to a test. */
function serve(store = memoryStore(), name = "memory") {
  let work: (auth: Auth) => unknown = () => undefined;
  const server = createServer({
    name,
    version: "1",
    store,
    exposeErrors: true,
    onError: () => {},
    tools: { use: tool({ run: async (_, { auth }) => ({ gave: (auth && (await work(auth))) ?? null }) }) },
  });
  const as = async (principal: string, use: (auth: Auth) => unknown): Promise<unknown> => {
    work = use;
    const caller = { peer: { ...peer(), auth: { principal, scopes: ["a"] } } };
    const outcome = await send(server, "tools/call", { name: "use" }, caller);
    if (outcome.kind !== "complete") throw new Error(JSON.stringify(outcome));
    if (outcome.result.isError) throw new Error(JSON.stringify(outcome.result.content));
    return (outcome.result.structuredContent as { gave: unknown }).gave;
  };
  return { as };
}

describe("the state of a caller", () => {
  it("outlives the call, and is that of its principal only", async () => {
    const { as } = serve();
    await as("ann", ({ state }) => state.set({ cart: ["tea"] }));
    expect(await as("bob", ({ state }) => state.get())).toBeNull();
    expect(await as("ann", ({ state }) => state.get())).toEqual({ cart: ["tea"] });
    await as("ann", ({ state }) => state.delete());
    expect(await as("ann", ({ state }) => state.get())).toBeNull();
  });

  it("is the same in every process that shares the store", async () => {
    const store = memoryStore();
    const [one, other] = [serve(store), serve(store)];
    await one.as("ann", ({ state }) => state.set({ n: 1 }));
    expect(await other.as("ann", ({ state }) => state.get())).toEqual({ n: 1 });
  });

  it("is not that of the same principal on another server that has the same store (S11)", async () => {
    const store = memoryStore();
    const [one, other] = [serve(store, "one"), serve(store, "other")];
    await one.as("ann", ({ state }) => state.set({ n: 1 }));
    expect(await other.as("ann", ({ state }) => state.get())).toBeNull();
    expect(await one.as("ann", ({ state }) => state.get())).toEqual({ n: 1 });
  });

  it("loses no update of several at once", async () => {
    const { as } = serve();
    const add = async ({ state }: Auth): Promise<unknown> => {
      const more = (before: { n?: number } | undefined) => ({ n: (before?.n ?? 0) + 1 });
      await Promise.all(Array.from({ length: 20 }, () => state.update(async (before) => more(before))));
      return state.get();
    };
    expect(await as("ann", add)).toEqual({ n: 20 });
    expect(await as("ann", ({ state }) => state.update(() => undefined))).toBeNull();
    expect(await as("ann", ({ state }) => state.get())).toBeNull();
  });

  it("is a JSON object of bounded size", async () => {
    const { as } = serve();
    await expect(as("ann", ({ state }) => state.set({ text: "x".repeat(300_000) }))).rejects.toThrow(
      /has 300011 characters as JSON, at most 262144 are kept/,
    );
    await expect(as("ann", ({ state }) => state.set(null as never))).rejects.toThrow(/must be a JSON object/);
  });

  it("shows nothing else of who calls", async () => {
    const { as } = serve();
    expect(await as("ann", (auth) => ({ ...auth }))).toEqual({ principal: "ann", scopes: ["a"] });
  });
});
