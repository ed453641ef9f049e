import { describe, expect, it, vi } from "vitest";
import { askedBy, complete, makeCall, peer, send } from "../../test/support/direct.ts";
import type { JsonObject } from "../json/json.ts";
import type { Method, Params } from "../protocol/methods.ts";
import type { Context } from "./context.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "club", version: "1" };
const member = ({ auth }: Context): boolean => auth?.principal === "ann";
const memberLater = async (context: Context): Promise<boolean> => member(context);
const as = (principal?: string) => ({
  peer: { ...peer(), ...(principal !== undefined && { auth: { principal, scopes: ["read"] } }) },
});

const run = vi.fn(() => "done");
const server = createServer({
  ...info,
  cache: { ttlMs: 60_000, scope: "public" },
  subscribe: true,
  tools: { open: tool({ run }), secret: tool({ visible: member, run }), late: tool({ visible: memberLater, run }) },
  prompts: {
    open: prompt({ get: () => "open" }),
    secret: prompt({
      visible: memberLater,
      arguments: { type: "object", properties: { a: { type: "string" } } },
      complete: { a: (_value, { auth, arguments: known }) => [`${auth?.principal} ${known.b}`] },
      get: () => "secret",
    }),
    scoped: prompt({ scopes: ["write"], get: () => "scoped" }),
  },
  resources: [
    resource("club://open", { read: () => "open" }),
    resource("club://secret", { visible: member, read: () => "secret" }),
    resource("club://scoped", { scopes: ["write"], read: () => "scoped" }),
    resource("club://mine", { read: (_, { auth }) => auth?.principal ?? "nobody" }),
    resource("club://rooms/{room}", {
      visible: memberLater,
      list: ({ auth }) => [{ uri: `club://rooms/${auth?.principal}`, name: "room" }],
      read: ({ room }) => `members: ${room}`,
    }),
    resource("club://rooms/{+any}", { read: ({ any }) => `guests: ${any}` }),
  ],
});

const namesOf = async <M extends "tools/list" | "prompts/list" | "resources/list">(method: M, principal?: string) => {
  const page = (await complete(server, method as Method, {} as never, as(principal))) as unknown as {
    readonly cacheScope: string;
  } & Record<string, readonly { readonly name: string }[]>;
  const list = page.tools ?? page.prompts ?? page.resources ?? [];
  return { names: list.map(({ name }) => name), cacheScope: page.cacheScope };
};

describe("what only some callers see", () => {
  it("is in their lists, and in those of nobody else", async () => {
    expect(await namesOf("tools/list", "ann")).toEqual({ names: ["open", "secret", "late"], cacheScope: "private" });
    expect(await namesOf("tools/list", "bob")).toEqual({ names: ["open"], cacheScope: "private" });
    expect((await namesOf("tools/list")).names).toEqual(["open"]);
    expect((await namesOf("prompts/list", "ann")).names).toEqual(["open", "secret", "scoped"]);
    expect((await namesOf("prompts/list", "bob")).names).toEqual(["open", "scoped"]);
    const all = ["club://open", "club://secret", "club://scoped", "club://mine", "room"];
    expect((await namesOf("resources/list", "ann")).names).toEqual(all);
    expect((await namesOf("resources/list", "bob")).names).toEqual(["club://open", "club://scoped", "club://mine"]);
    const templates = await complete(server, "resources/templates/list", {}, as("bob"));
    expect(templates.resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["club://rooms/{+any}"]);
  });

  it.each<{ method: Method; params: object; unknown: object }>([
    { method: "tools/call", params: { name: "secret" }, unknown: { name: "nobody-has-it" } },
    { method: "tools/call", params: { name: "late" }, unknown: { name: "nobody-has-it" } },
    { method: "prompts/get", params: { name: "secret" }, unknown: { name: "nobody-has-it" } },
    { method: "resources/read", params: { uri: "club://secret" }, unknown: { uri: "club://nobody-has-it" } },
  ])("is used by them, and unknown to others: $method $params", async ({ method, params, unknown }) => {
    const call = (given: object, principal?: string) => send(server, method, given as Params<Method>, as(principal));
    const plain = (outcome: object, given: object): string =>
      JSON.stringify(outcome).replaceAll(String(Object.values(given)[0]), "NAME");
    expect((await call(params, "ann")).kind).toBe("complete");
    const refusal = plain(await call(unknown, "bob"), unknown);
    expect(plain(await call(params, "bob"), params)).toBe(refusal);
    expect(plain(await call(params), params)).toBe(refusal);
  });

  it("does not run for others", async () => {
    run.mockClear();
    await send(server, "tools/call", { name: "secret" }, as("bob"));
    expect(run).not.toHaveBeenCalled();
  });

  it("hides a template, and not the next one that matches", async () => {
    const read = async (principal: string) =>
      (await complete(server, "resources/read", { uri: "club://rooms/1" }, as(principal))).contents[0];
    expect(await read("ann")).toMatchObject({ text: "members: 1" });
    expect(await read("bob")).toMatchObject({ text: "guests: 1" });
  });

  it("completes values for them, with all that a handler sees", async () => {
    const params = {
      ref: { type: "ref/prompt", name: "secret" },
      argument: { name: "a", value: "" },
      context: { arguments: { b: "B" } },
    } as const;
    const values = async (principal: string) =>
      (await complete(server, "completion/complete", params, as(principal))).completion.values;
    expect(await values("ann")).toEqual(["ann B"]);
    expect(await values("bob")).toEqual([]);
  });

  it("may be heard of by them only", async () => {
    const acknowledged = async (principal: string) => {
      const uris = ["club://open", "club://secret", "club://scoped", "club://rooms/1", "club://unknown"];
      const params = { notifications: { resourceSubscriptions: uris } };
      const { call, abort, notes } = makeCall("subscriptions/listen", params, as(principal));
      const listening = server(call);
      await vi.waitFor(() => expect(notes.length).toBe(1));
      abort.abort("enough");
      await listening;
      return notes[0]?.[1].notifications;
    };
    const resourceSubscriptions = ["club://open", "club://secret", "club://rooms/1", "club://unknown"];
    expect(await acknowledged("ann")).toEqual({ resourceSubscriptions });
    expect(await acknowledged("bob")).toEqual({
      resourceSubscriptions: ["club://open", "club://rooms/1", "club://unknown"],
    });
  });

  it("is paged without gaps", async () => {
    const tools = Object.fromEntries(
      Array.from({ length: 10 }, (_, index) => [
        `t${index}`,
        tool({ run, ...(index % 2 === 0 && { visible: member }) }),
      ]),
    );
    const paged = createServer({ ...info, pageSize: 2, tools });
    const all: string[] = [];
    for (let cursor: string | undefined, pages = 0; pages < 9; pages++) {
      const page = await complete(paged, "tools/list", cursor === undefined ? {} : { cursor }, as("bob"));
      all.push(...page.tools.map(({ name }) => name));
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
    expect(all).toEqual(["t1", "t3", "t5", "t7", "t9"]);
  });

  it("is hidden when the decision fails, cannot ask, or is anything but true", async () => {
    const visible = vi.fn<(context: Context) => unknown>();
    const onError = vi.fn();
    const odd = createServer({ ...info, onError, tools: { odd: tool({ visible: visible as never, run }) } });
    run.mockClear();
    visible.mockReturnValueOnce(1);
    expect(await send(odd, "tools/call", { name: "odd" })).toMatchObject({ failure: { message: "unknown tool odd" } });
    visible.mockImplementationOnce(() => {
      throw new Error("database away");
    });
    expect(await send(odd, "tools/call", { name: "odd" })).toMatchObject({ failure: { code: "internal" } });
    expect(onError).toHaveBeenCalledOnce();
    visible.mockImplementationOnce((context) => context.ask("Who are you?"));
    expect(await send(odd, "tools/call", { name: "odd" })).toMatchObject({ kind: "failed" });
    expect(run).not.toHaveBeenCalled();
  });

  it("is defined by a function", () => {
    expect(() => createServer({ ...info, tools: { odd: tool({ visible: true as never, run }) } })).toThrow(
      /visible must be a function/,
    );
  });
});

describe("what takes scopes", () => {
  it.each<{ method: Method; params: object }>([
    { method: "prompts/get", params: { name: "scoped" } },
    { method: "resources/read", params: { uri: "club://scoped" } },
  ])("is refused to callers without them: $method", async ({ method, params }) => {
    const outcome = await send(server, method, params as Params<Method>, as("ann"));
    expect(outcome).toMatchObject({ failure: { code: "forbidden", data: { scopes: ["write"] } } });
    const granted = { peer: { ...peer(), auth: { principal: "ann", scopes: ["write"] } } };
    expect(await send(server, method, params as Params<Method>, granted)).toMatchObject({ kind: "complete" });
  });
});

describe("what depends on the caller", () => {
  it("is never cached as public", async () => {
    const scopeOf = async (uri: string, principal = "ann") =>
      (await complete(server, "resources/read", { uri }, as(principal))).cacheScope;
    expect(await scopeOf("club://open")).toBe("public");
    expect(await scopeOf("club://mine")).toBe("private");
    expect(await scopeOf("club://secret")).toBe("private");
  });

  type Read = (context: Context) => unknown;
  const form = { type: "object", properties: { name: { type: "string" } } } as const;
  const personal: readonly (readonly [string, Read])[] = [
    ["client", ({ client }) => client.info?.name],
    ["auth", ({ auth }) => auth?.principal],
    ["session", ({ session }) => session?.id],
    ["http", ({ http }) => http?.remoteAddress],
    ["platform", ({ platform }) => platform],
    ["meta", ({ meta }) => meta],
  ];
  const asking: readonly (readonly [string, Read])[] = [
    ["ask", ({ ask }) => ask("Your name?", form)],
    ["askUrl", ({ askUrl }) => askUrl("Sign in", "https://example.com")],
    ["elicit", ({ elicit }) => elicit({ message: "Your name?", requestedSchema: form })],
    ["sample", ({ sample }) => sample({ messages: [], maxTokens: 1 })],
    ["roots", ({ roots }) => roots()],
  ];
  const replies: Readonly<Record<string, JsonObject>> = {
    ask: { action: "accept", content: { name: "ann" } },
    askUrl: { action: "accept" },
    elicit: { action: "accept", content: { name: "ann" } },
    sample: { role: "assistant", model: "m", content: { type: "text", text: "ann" } },
    roots: { roots: [{ uri: "file:///home/ann" }] },
  };
  const stateKeys = ["KXnZTXoiyrcQMW6czKs-zDymBYXuXckvnfvRrwwowRI"];
  const publicServer = (read: Read) =>
    createServer({
      ...info,
      stateKeys,
      cache: { ttlMs: 60_000, scope: "public" },
      resources: [
        resource("club://it", { read: async (_, context) => JSON.stringify((await read(context)) ?? null) }),
        resource("club://of/{it}", {
          list: async (context) => [{ uri: "club://of/1", name: JSON.stringify((await read(context)) ?? null) }],
          read: () => "",
        }),
      ],
    });

  it.each(personal)("by ctx.%s is never cached as public, read or listed", async (_, read) => {
    const it = publicServer(read);
    expect(await complete(it, "resources/read", { uri: "club://it" })).toMatchObject({ cacheScope: "private" });
    expect(await complete(it, "resources/list", {})).toMatchObject({ cacheScope: "private" });
    const same = publicServer(({ requestId }) => requestId);
    expect(await complete(same, "resources/read", { uri: "club://it" })).toMatchObject({ cacheScope: "public" });
  });

  it.each(asking)(
    "by ctx.%s is never cached as public: asked while it waits, and resumed elsewhere",
    async (name, read) => {
      const reply = replies[name] as never;
      const uri = { uri: "club://it" };
      expect(await complete(publicServer(read), "resources/read", uri, { ask: async () => reply })).toMatchObject({
        cacheScope: "private",
      });
      const { state, questions } = askedBy(await send(publicServer(read), "resources/read", uri));
      const answers = Object.fromEntries(Object.keys(questions).map((key) => [key, reply]));
      expect(await complete(publicServer(read), "resources/read", uri, { state, answers })).toMatchObject({
        cacheScope: "private",
      });
    },
  );

  it("by an answer is never cached as public, also where the handler that is run again does not ask", async () => {
    let isAsked = false;
    const read: Read = ({ ask }) => ask("Your name?", form);
    const once =
      (ask: Read): Read =>
      (context) => {
        if (isAsked) return "ann";
        isAsked = true;
        return ask(context);
      };
    const uri = { uri: "club://it" };
    const { state, questions } = askedBy(await send(publicServer(once(read)), "resources/read", uri));
    const answers = Object.fromEntries(Object.keys(questions).map((key) => [key, replies.ask as never]));
    expect(await complete(publicServer(once(read)), "resources/read", uri, { state, answers })).toMatchObject({
      cacheScope: "private",
    });
  });

  it("leaves lists that are the same for all as they are, made once", async () => {
    const plain = createServer({ ...info, cache: { ttlMs: 1, scope: "public" }, tools: { open: tool({ run }) } });
    const [one, two] = [await complete(plain, "tools/list", {}), await complete(plain, "tools/list", {}, as("ann"))];
    expect(one).toBe(two);
    expect(one.cacheScope).toBe("public");
  });
});
