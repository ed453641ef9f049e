import { describe, expect, it, vi } from "vitest";
import {
  callTool,
  complete,
  failureOf,
  faultLog,
  makeCall,
  resultOf,
  send,
  sendAny,
} from "../../test/support/direct.ts";
import { type ErrorCode, McpError, toolError } from "../protocol/errors.ts";
import { text } from "./content.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };

function throwing(error: unknown) {
  const { faults, onError } = faultLog();
  const now = (): never => {
    throw error;
  };
  const server = createServer({
    ...info,
    onError,
    tools: { now: tool({ run: now }), later: tool({ run: async () => now() }) },
    prompts: { say: prompt({ get: now }) },
    resources: [resource("a://b", { read: now })],
  });
  return { faults, server };
}

const tellable: readonly ErrorCode[] = [
  "invalid-request",
  "method-not-found",
  "invalid-params",
  "internal",
  "resource-not-found",
  "missing-capability",
  "url-elicitation-required",
  "rejected",
  "application",
  "timeout",
];
const local: readonly ErrorCode[] = [
  "parse-error",
  "header-mismatch",
  "unsupported-revision",
  "unsupported",
  "invalid-definition",
  "invalid-response",
  "cancelled",
  "connection-closed",
  "limit-reached",
];

describe("what a tool throws", () => {
  it.each(["now", "later"])(
    "C42: a plain error (%s) is masked with an id, and told in full to the server",
    async (name) => {
      const error = new Error("password in /etc/shadow");
      const { faults, server } = throwing(error);
      const result = await callTool(server, name);
      const [[thrown, place] = []] = faults;
      expect(thrown).toBe(error);
      expect(place).toEqual({ id: expect.stringMatching(/^[\w-]{12}$/), method: "tools/call", name });
      expect(result).toStrictEqual({ content: [text(`internal error, id ${place?.id}`)], isError: true });
      expect(faults).toHaveLength(1);
    },
  );

  it.each([["a string"], [undefined], [null], [7], [{ code: "invalid-params", message: "not ours" }], [Symbol("s")]])(
    "C42: %s is masked like an error",
    async (thrown) => {
      const { faults, server } = throwing(thrown);
      expect(await callTool(server, "later")).toMatchObject({
        content: [{ text: expect.stringMatching(/^internal/) }],
      });
      expect(faults.map(([error]) => error)).toEqual([thrown]);
    },
  );

  it("gives every fault its own id", async () => {
    const { faults, server } = throwing(new Error("x"));
    await callTool(server, "now");
    await callTool(server, "now");
    expect(new Set(faults.map(([, { id }]) => id)).size).toBe(2);
  });

  it("toolError() is a result for the model", async () => {
    const { faults, server } = throwing(toolError("sold out"));
    const expected = { content: [text("sold out")], isError: true };
    expect([await callTool(server, "now"), await callTool(server, "later")]).toStrictEqual([expected, expected]);
    expect(faults).toEqual([]);
  });

  it("toolError() takes what JSON can be made of, such as the value of an interface", async () => {
    interface Left {
      readonly until: Date;
      readonly left?: number | undefined;
    }
    const data: Left = { until: new Date(0), left: undefined };
    const { server } = throwing(toolError("sold out", data));
    expect(await callTool(server, "now")).toMatchObject({
      _meta: { "plugbay/error": { until: "1970-01-01T00:00:00.000Z" } },
    });
    expect(() => toolError("sold out", 1n)).toThrow(TypeError);
    expect(toolError("sold out").data).toBeUndefined();
  });

  it("toolError() brings its data along", async () => {
    const { server } = throwing(toolError("sold out", { left: 0 }));
    const expected = { content: [text("sold out")], isError: true, _meta: { "plugbay/error": { left: 0 } } };
    expect(await callTool(server, "now")).toStrictEqual(expected);
  });

  it.each(tellable)("McpError %s passes as it is", async (code) => {
    const cause = new McpError(code, "said so", { data: { a: 1 }, number: 7 });
    const { faults, server } = throwing(cause);
    const failure = { code, message: "said so", data: { a: 1 }, number: 7 };
    expect(await send(server, "tools/call", { name: "later" })).toStrictEqual({ kind: "failed", failure, cause });
    expect(faults).toEqual([]);
  });

  it.each(local)("McpError %s says something of this side and is masked", async (code) => {
    const { faults, server } = throwing(new McpError(code, "secret", { data: { secret: 1 } }));
    const result = await callTool(server, "now");
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^internal error/) }] });
    expect(JSON.stringify(result)).not.toContain("secret");
    expect(faults).toMatchObject([[{ code }, { name: "now" }]]);
  });
});

describe("what a resource or prompt throws", () => {
  it.each([
    ["resources/read", { uri: "a://b" }, "a://b"],
    ["prompts/get", { name: "say" }, "say"],
  ] as const)("%s: a plain error is masked", async (method, params, name) => {
    const { faults, server } = throwing(new Error("secret"));
    const failure = failureOf(await send(server, method, params as never));
    expect(failure).toEqual({
      code: "internal",
      message: `internal error, id ${faults[0]?.[1].id}`,
      data: { id: faults[0]?.[1].id },
    });
    expect(faults).toMatchObject([[{ message: "secret" }, { method, name }]]);
  });

  it("fail() keeps its message", async () => {
    const { faults, server } = throwing(toolError("sold out", { left: 0 }));
    const failure = { code: "internal", message: "sold out", data: { left: 0 } };
    expect(failureOf(await send(server, "prompts/get", { name: "say" }))).toStrictEqual(failure);
    expect(failureOf(await send(server, "resources/read", { uri: "a://b" }))).toStrictEqual(failure);
    expect(faults).toEqual([]);
  });

  it("an McpError of the protocol passes", async () => {
    const { server } = throwing(new McpError("rejected", "no"));
    expect(failureOf(await send(server, "prompts/get", { name: "say" }))).toEqual({ code: "rejected", message: "no" });
  });
});

describe("the hook", () => {
  it("that throws is reported itself and changes nothing else", async () => {
    const report = vi.spyOn(console, "error").mockImplementation(() => {});
    try {
      const broken = new Error("broken hook");
      const server = createServer({
        ...info,
        onError() {
          throw broken;
        },
        tools: {
          bad: tool({
            run: () => {
              throw new Error("secret");
            },
          }),
        },
      });
      expect(await callTool(server, "bad")).toMatchObject({ isError: true });
      expect(report).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("tools/call bad"), broken);
    } finally {
      report.mockRestore();
    }
  });

  it("is console.error by default", async () => {
    const report = vi.spyOn(console, "error").mockImplementation(() => {});
    try {
      const error = new Error("secret");
      const server = createServer({ ...info, tools: { bad: tool({ run: () => Promise.reject(error) }) } });
      const result = await callTool(server, "bad");
      const [block] = result.content;
      const said = block?.type === "text" ? block.text : "";
      expect(report).toHaveBeenCalledExactlyOnceWith(`plugbay: ${said.replace(", id", "")} in tools/call bad:`, error);
    } finally {
      report.mockRestore();
    }
  });
});

describe("what a handler throws because it was told to stop", () => {
  const waiting = (settle: (signal: AbortSignal, reject: (error: unknown) => void) => void) =>
    tool({
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => settle(signal, reject));
        }),
    });

  it.each<[string, Parameters<typeof waiting>[0]]>([
    ["the reason of the signal", (signal, reject) => reject(signal.reason)],
    ["an AbortError", (_, reject) => reject(new DOMException("stopped", "AbortError"))],
    ["a cancelled call of its own", (_, reject) => reject(new McpError("cancelled", "stopped"))],
    ["a connection that ended", (_, reject) => reject(new McpError("connection-closed", "gone"))],
  ])("C38: %s is no fault", async (_, settle) => {
    const { faults, onError } = faultLog();
    const server = createServer({ ...info, onError, tools: { wait: waiting(settle) } });
    for (const reason of ["user cancelled", undefined]) {
      const { call, abort } = makeCall("tools/call", { name: "wait" });
      const outcome = server(call);
      abort.abort(reason);
      expect(failureOf(await outcome)).toEqual({ code: "cancelled", message: "the call was cancelled" });
    }
    expect(faults).toEqual([]);
  });

  it("another error is one", async () => {
    const { faults, onError } = faultLog();
    const wait = waiting((_, reject) => reject(new Error("while cleaning up")));
    const server = createServer({ ...info, onError, tools: { wait } });
    const { call, abort } = makeCall("tools/call", { name: "wait" });
    const outcome = server(call);
    abort.abort("stop");
    expect(resultOf(await outcome)).toMatchObject({ isError: true });
    expect(faults).toMatchObject([[{ message: "while cleaning up" }, { name: "wait" }]]);
  });

  it("an AbortError without an abort is one", async () => {
    const { faults, server } = throwing(new DOMException("somebody else's", "AbortError"));
    expect(await callTool(server, "later")).toMatchObject({ isError: true });
    expect(faults).toHaveLength(1);
  });
});

it("C42: a server goes on after a handler threw", async () => {
  const { server } = throwing(new Error("x"));
  await callTool(server, "now");
  expect((await complete(server, "tools/list", {})).tools).toHaveLength(2);
});

describe("exposeErrors", () => {
  /** Everything that a client is told when handlers throw this. */
  async function told(error: unknown, options: { readonly exposeErrors?: boolean | undefined }) {
    const { faults, onError } = faultLog();
    const now = (): never => {
      throw error;
    };
    const server = createServer({
      ...info,
      ...options,
      onError,
      tools: { it: tool({ run: now }), bad: tool({ output: { type: "string" }, run: () => 7 as never }) },
      prompts: { it: prompt({ get: now }) },
      resources: [resource("a://b", { read: now })],
      methods: { "acme/it": now },
      middleware: [(next) => (call) => (call.method === "tools/list" ? now() : next(call))],
    });
    const sent = await Promise.all([
      send(server, "tools/call", { name: "it" }),
      send(server, "prompts/get", { name: "it" }),
      send(server, "resources/read", { uri: "a://b" }),
      sendAny(server, "acme/it"),
      send(server, "tools/list", {}),
    ]);
    const broken = await send(server, "tools/call", { name: "bad" });
    return { texts: sent.map((outcome) => JSON.stringify(outcome)), broken: JSON.stringify(broken), faults };
  }

  const error = new TypeError("no such column");

  it.each([undefined, false])("%s: a client sees neither message nor stack, only an id (T6)", async (exposeErrors) => {
    const { texts, broken, faults } = await told(error, { exposeErrors });
    for (const text of [...texts, broken]) {
      expect(text).toMatch(/internal error, id [\w-]{12}"/);
      expect(text).not.toMatch(/no such column|TypeError|output schema|\.ts:/);
    }
    expect(faults.length).toBe(6);
  });

  it("true: a client sees message and stack, and onError what it always does (T6)", async () => {
    const { texts, broken, faults } = await told(error, { exposeErrors: true });
    for (const text of texts) {
      expect(text).toMatch(/internal error, id [\w-]{12}: TypeError: no such column\\n +at .*error-reporter\.test\.ts/);
    }
    expect(broken).toContain("tool bad returned what its output schema forbids");
    expect(faults.slice(0, 5).map(([thrown]) => thrown)).toEqual(Array(5).fill(error));
    expect(faults[0]?.[1]).toEqual({ id: expect.stringMatching(/^[\w-]{12}$/), method: "tools/call", name: "it" });
  });

  it.each([
    ["a text", "text"],
    ["42", 42],
    ["undefined", undefined],
  ])("true: what is no error is told as it is: %s (T6)", async (text, thrown) => {
    const { texts } = await told(text === "a text" ? text : thrown, { exposeErrors: true });
    for (const said of texts) expect(said).toContain(`: ${text}"`);
  });

  it("true: errors that are meant for the client stay as they are (T6)", async () => {
    const { texts } = await told(new McpError("rejected", "closed"), { exposeErrors: true });
    for (const said of texts) expect(JSON.parse(said)).toMatchObject({ failure: { message: "closed" } });
  });
});
