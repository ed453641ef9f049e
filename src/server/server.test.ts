import { describe, expect, it } from "vitest";
import { z } from "zod";
import { callTool, complete, failureOf, faultLog, send, sendAny } from "../../test/support/direct.ts";
import { gate } from "../../test/support/served.ts";
import { connect } from "../connect/connect.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError, toolError } from "../protocol/errors.ts";
import type { GetPromptResult } from "../protocol/prompt.ts";
import { type Middleware, type Outcome, type Service, withCall } from "../protocol/service.ts";
import type { ErrorHook } from "./error-reporter.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };
const tools = { hi: tool({ run: () => "hi" }) };

describe("a server without a connection", () => {
  it("C30: answers a call on its own, with no session and nothing kept for the next", async () => {
    const server = createServer({ ...info, tools: { who: tool({ run: (_, { client: peer }) => peer.revision }) } });
    expect(await callTool(server, "who")).toEqual({ content: [{ type: "text", text: "2026-07-28" }] });
    expect(failureOf(await sendAny(server, "initialize", {}))).toMatchObject({ code: "method-not-found" });
    expect(failureOf(await sendAny(server, "ping", {}))).toMatchObject({ code: "method-not-found" });
  });

  it("C66: takes structured content from a resource or prompt for what it is there: a value like others", async () => {
    const structuredContent = { a: 1 };
    const server = createServer({
      ...info,
      resources: [resource("shop://a", { read: () => ({ structuredContent }) })],
      prompts: { p: prompt({ get: () => ({ messages: [], structuredContent }) as GetPromptResult }) },
    });
    const { contents } = await complete(server, "resources/read", { uri: "shop://a" });
    expect(contents).toMatchObject([{ mimeType: "application/json", text: JSON.stringify({ structuredContent }) }]);
    expect(await complete(server, "prompts/get", { name: "p" })).toMatchObject({ messages: [] });
  });
});

describe("discover", () => {
  it("says everything that is set", async () => {
    const said = {
      name: "shop",
      version: "1",
      title: "Shop",
      description: "Sells",
      websiteUrl: "https://x",
      icons: [{ src: "https://x/y.png" }],
    };
    const server = createServer({ ...said, instructions: "Be kind", tools, cache: { ttlMs: 5, scope: "public" } });
    expect(await complete(server, "server/discover", {})).toStrictEqual({
      supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
      capabilities: { tools: {} },
      instructions: "Be kind",
      serverInfo: said,
      ttlMs: 5,
      cacheScope: "public",
    });
    expect(server.info).toStrictEqual(said);
  });

  it("leaves out what is not set, and may not be kept", async () => {
    expect(await complete(createServer(info), "server/discover", {})).toStrictEqual({
      supportedVersions: expect.any(Array),
      capabilities: {},
      serverInfo: info,
      ttlMs: 0,
      cacheScope: "private",
    });
  });

  it("is the same object until something changes", async () => {
    const server = createServer({ ...info, tools });
    const first = await complete(server, "server/discover", {});
    expect(await complete(server, "server/discover", {})).toBe(first);
    expect(Object.isFrozen(first)).toBe(true);
    server.tools.remove("hi");
    const second = await complete(server, "server/discover", {});
    expect(second).not.toBe(first);
    expect(second.serverInfo).toBe(server.info);
  });
});

describe("a pattern that could take for ever", () => {
  const unsafe = { type: "object", properties: { a: { type: "string", pattern: "(a+)+$" } } } as const;
  const harmful = { a: `${"a".repeat(40)}!` };
  const run = () => "ran";
  const problem = (owner: string) =>
    `${owner} is not a usable schema: #/properties/a/pattern cannot be used: (a+)+ can match the same text in exponentially many ways`;

  it.each<[owner: string, offers: object]>([
    ["tool t: input", { tools: { ...tools, t: tool({ input: unsafe, run }) } }],
    ["tool t: output", { tools: { ...tools, t: tool({ output: unsafe, run: () => ({ a: "a" }) }) } }],
    ["prompt p: arguments", { prompts: { p: prompt({ arguments: unsafe, get: run }) } }],
  ])("%s: the server does not say what it is", async (owner, offers) => {
    const { faults, onError } = faultLog();
    const server = createServer({ ...info, ...offers, onError });
    const failure = { code: "invalid-definition", message: problem(owner) };
    for (let time = 0; time < 2; time++) {
      expect(failureOf(await send(server, "server/discover", {}))).toStrictEqual(failure);
    }
    expect(faults).toEqual([]);
  });

  it("keeps a server from starting in a Standard Schema too, unless it is trusted (B13)", async () => {
    const zod = z.object({ a: z.string().regex(/^(a+)+$/) });
    const offers = {
      tools: { t: tool({ input: zod, run: () => "ran" }), u: tool({ output: zod, run: () => ({ a: "a" }) }) },
      prompts: { p: prompt({ arguments: zod, get: () => "got" }) },
    };
    for (const [owner, part] of [
      ["tool t: input", { tools: { t: offers.tools.t } }],
      ["tool u: output", { tools: { u: offers.tools.u } }],
      ["prompt p: arguments", { prompts: offers.prompts }],
    ] as const) {
      const server = createServer({ ...info, ...part });
      const { code, message } = failureOf(await send(server, "server/discover", {}));
      expect(code).toBe("invalid-definition");
      expect(message).toContain(
        `${owner} is not a usable schema: #/properties/a/pattern cannot be used: (a+)+ can match`,
      );
      expect(message).toContain("trustPatterns");
    }
    const server = createServer({ ...info, ...offers });
    expect(await callTool(server, "t", harmful)).toMatchObject({ isError: true });
    const trusting = createServer({ ...info, ...offers, trustPatterns: true });
    expect(await complete(trusting, "server/discover", {})).toMatchObject({ serverInfo: info });
    expect(await callTool(trusting, "t", { a: "aa" })).toMatchObject({ content: [{ text: "ran" }] });
    expect(await callTool(trusting, "u")).toMatchObject({ structuredContent: { a: "a" } });
  });

  it("may be taken out before the start", async () => {
    const server = createServer({ ...info, tools: { ...tools, t: tool({ input: unsafe, run }) } });
    server.tools.remove("t");
    expect(await complete(server, "server/discover", {})).toMatchObject({ serverInfo: info });
  });

  it("refuses calls, and does not run the tool", async () => {
    let runs = 0;
    const server = createServer({ ...info, tools: { t: tool({ input: unsafe, run: () => `${runs++}` }) } });
    for (const input of [harmful, { a: "a" }]) {
      expect(await callTool(server, "t", input)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining("cannot be checked: #/properties/a/pattern") }],
      });
    }
    expect(runs).toBe(0);
  });

  it("in what is added while the server runs is told to the operator, and the others are served", async () => {
    const told: unknown[] = [];
    const both = gate();
    const onError: ErrorHook = (error, { method, name }) => {
      if (told.push([(error as McpError).message, method, name]) === 2) both.open();
    };
    const server = createServer({ ...info, tools, prompts: {}, onError });
    await complete(server, "server/discover", {});
    server.tools.add("t", tool({ input: unsafe, run }));
    server.tools.add("u", tool({ input: { type: "object", patternProperties: { "^a+$": {} } }, run }));
    server.prompts.add("p", prompt({ arguments: unsafe, get: run }));
    expect(await callTool(server, "t", harmful)).toMatchObject({ isError: true });
    expect(await callTool(server, "u", harmful)).toMatchObject({ content: [{ text: "ran" }] });
    expect(await callTool(server, "hi")).toMatchObject({ content: [{ text: "hi" }] });
    expect(await complete(server, "server/discover", {})).toMatchObject({ serverInfo: info });
    await both.opened;
    expect(told).toEqual([
      [problem("tool t: input"), "tools/call", "t"],
      [problem("prompt p: arguments"), "prompts/get", "p"],
    ]);
  });
});

describe("middleware", () => {
  const tracing = (name: string, log: string[]): Middleware => {
    return (next) => async (call) => {
      log.push(`${name} before`);
      const outcome = await next(call);
      log.push(`${name} after`);
      return outcome;
    };
  };

  it("wraps every call, the first outermost", async () => {
    const log: string[] = [];
    const hi = tool({ run: () => void log.push("run") });
    const server = createServer({ ...info, tools: { hi }, middleware: [tracing("a", log), tracing("b", log)] });
    await callTool(server, "hi");
    expect(log).toEqual(["a before", "b before", "run", "b after", "a after"]);
    log.length = 0;
    await sendAny(server, "no/such");
    expect(log).toHaveLength(4);
  });

  it("may answer by itself", async () => {
    const seen: string[] = [];
    const closed: Middleware = () => async () => ({ kind: "failed", failure: { code: "rejected", message: "closed" } });
    const server = createServer({
      ...info,
      tools: { hi: tool({ run: () => void seen.push("run") }) },
      middleware: [closed],
    });
    expect(failureOf(await send(server, "tools/call", { name: "hi" }))).toEqual({
      code: "rejected",
      message: "closed",
    });
    expect(seen).toEqual([]);
  });

  it("may change a call", async () => {
    const auth: Middleware = (next) => (call) =>
      next(withCall(call, { peer: { ...call.peer, auth: { principal: "ann" } } }));
    const who = tool({ run: (_, { client: peer }) => peer.auth?.principal });
    const server = createServer({ ...info, tools: { who }, middleware: [auth] });
    expect(await callTool(server, "who")).toEqual({ content: [{ type: "text", text: "ann" }] });
  });

  it.each<[string, Middleware]>([
    [
      "throws",
      () => () => {
        throw new Error("secret");
      },
    ],
    ["rejects", () => () => Promise.reject(new Error("secret"))],
    [
      "throws after the call",
      (next) => async (call) => {
        await next(call);
        throw new Error("secret");
      },
    ],
  ])("C42: that %s is masked like a handler", async (_, broken) => {
    const { faults, onError } = faultLog();
    const server = createServer({ ...info, onError, tools, middleware: [broken] });
    const failure = failureOf(await send(server, "tools/call", { name: "hi" }));
    expect(failure).toMatchObject({ code: "internal", message: `internal error, id ${faults[0]?.[1].id}` });
    expect(faults).toMatchObject([[{ message: "secret" }, { method: "tools/call" }]]);
  });

  it("that throws an error for the peer has it told", async () => {
    const { faults, onError } = faultLog();
    const closed: Middleware = () => () => Promise.reject(new McpError("rejected", "closed", { data: { until: 8 } }));
    const server = createServer({ ...info, onError, tools, middleware: [closed] });
    const failure = { code: "rejected", message: "closed", data: { until: 8 } };
    expect(failureOf(await send(server, "tools/list", {}))).toEqual(failure);
    expect(faults).toEqual([]);
  });

  it("that gives another service does not change that service", async () => {
    const other = createServer({ name: "other", version: "2", tools });
    const server = createServer({ ...info, middleware: [() => other] });
    expect([server.info.name, other.info.name]).toEqual(["shop", "other"]);
    expect(await callTool(server, "hi")).toEqual({ content: [{ type: "text", text: "hi" }] });
  });
});

describe("methods of your own", () => {
  it("get params and context, and give a result", async () => {
    const seen: unknown[] = [];
    const server = createServer({
      ...info,
      methods: {
        "acme/time": (params, { client: peer }) => {
          seen.push(params, peer.revision);
          return { now: 7 };
        },
        "acme/later": async () => ({ ok: true }),
      },
    });
    expect(await sendAny(server, "acme/time", { zone: "utc" })).toEqual({ kind: "complete", result: { now: 7 } });
    expect(await sendAny(server, "acme/later")).toEqual({ kind: "complete", result: { ok: true } });
    expect(seen).toEqual([{ zone: "utc" }, "2026-07-28"]);
  });

  it("fail like handlers do", async () => {
    const { faults, onError } = faultLog();
    const failing = (error: unknown) => (): JsonObject => {
      throw error;
    };
    const server = createServer({
      ...info,
      onError,
      methods: {
        "x/told": failing(new McpError("application", "busy", { number: 429 })),
        "x/read": failing(toolError("sold out")),
        "x/masked": failing(new Error("secret")),
      },
    });
    expect(failureOf(await sendAny(server, "x/told"))).toEqual({ code: "application", message: "busy", number: 429 });
    expect(failureOf(await sendAny(server, "x/read"))).toEqual({ code: "internal", message: "sold out" });
    expect(failureOf(await sendAny(server, "x/masked")).message).toMatch(/^internal error/);
    expect(faults).toMatchObject([[{ message: "secret" }, { method: "x/masked", name: "x/masked" }]]);
  });

  it.each(["tools/call", "server/discover"])("may not be called %s", (method) => {
    const define = () => createServer({ ...info, methods: { [method]: () => ({}) } });
    expect(define).toThrow(`method ${method} is defined by the protocol`);
  });

  it("must be functions", () => {
    const define = () => createServer({ ...info, methods: { "x/y": {} as never } });
    expect(define).toThrow(
      expect.objectContaining({ code: "invalid-definition", message: "method x/y must be a function" }),
    );
  });
});

describe("a server is a service", () => {
  it("that never rejects, whatever it is called with", async () => {
    const server = createServer({ ...info, onError: () => {}, tools, resources: [], prompts: {} });
    const odd: readonly unknown[] = [null, undefined, 7, "x", [], { name: 7 }, { uri: null }, { ref: null }];
    const methods = ["tools/call", "tools/list", "prompts/get", "resources/read", "completion/complete", "x"];
    for (const method of methods) {
      for (const params of odd) {
        const outcome = await sendAny(server, method, params as JsonObject);
        expect(["complete", "failed"]).toContain(outcome.kind);
      }
    }
  });

  it("that holds nothing of its callers: many may use it at once", async () => {
    const server = createServer({ ...info, tools });
    const clients = await Promise.all([connect(server), connect(server), connect(server, { revision: "2025-06-18" })]);
    for (const client of clients) expect(await client.tools.hi()).toBe("hi");
    await Promise.all(clients.map((client) => client.close()));
  });

  it("that can be called in process with its types", async () => {
    const sum = tool({
      input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
      output: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      run: ({ a, b }) => ({ sum: a + b }),
    });
    const client = await connect(createServer({ ...info, tools: { sum } }));
    expect(await client.tools.sum({ a: 1, b: 2 })).toEqual({ sum: 3 });
    await expect(client.tools.sum({ a: 1, b: "2" as never })).rejects.toMatchObject({ code: "tool-error" });
    await client.close();
  });

  it("can be wrapped from outside, too", async () => {
    const server = createServer({ ...info, tools });
    const wrapped: Service = async (call) => {
      const outcome: Outcome<typeof call.method> = await server(call);
      return outcome;
    };
    expect((await send(wrapped, "tools/call", { name: "hi" })).kind).toBe("complete");
  });
});

it.each([0, -1, Number.NaN])("a state that lives %d ms is refused: no answer could ever be in time", (askTimeoutMs) => {
  expect(() => createServer({ ...info, askTimeoutMs })).toThrow("the option askTimeoutMs must be at least 1");
});

it("a secret that could be guessed is refused when the server is defined", () => {
  expect(() => createServer({ ...info, stateKeys: ["short"] })).toThrow("must be 32 random bytes");
});
