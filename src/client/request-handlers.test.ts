import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { CreateMessageResult, Question, Root } from "../protocol/input.ts";
import { tasksExtension } from "../protocol/task.ts";
import { createManualClock } from "../testing/clock.ts";
import type { ElicitReply, ElicitUrl } from "./elicitation.ts";
import { createRequestHandlers, type QuestionHandlers } from "./request-handlers.ts";
import type { ClientWarning } from "./warning.ts";

const signal = new AbortController().signal;
const requestedSchema: JsonObject = {
  type: "object",
  properties: { sku: { type: "string" }, qty: { type: "integer", default: 1 } },
  required: ["sku", "qty"],
};
const form: Question = { method: "elicitation/create", params: { message: "What?", requestedSchema } };
const sampling: Question = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 10 },
};
const rootsList: Question = { method: "roots/list", params: {} };
const sampled: CreateMessageResult = { role: "assistant", content: { type: "text", text: "hello" }, model: "m" };

function link(url: string, elicitationId?: string): Question {
  const params = {
    mode: "url",
    message: "Sign in",
    url,
    ...(elicitationId !== undefined && { elicitationId }),
  } as const;
  return { method: "elicitation/create", params };
}

const ask = (options: QuestionHandlers, question: Question) => createRequestHandlers(options).answer(question, signal);

describe("what a client declares", () => {
  it.each<[string, QuestionHandlers, object]>([
    ["nothing", {}, {}],
    ["a form handler", { onElicit: () => ({ action: "cancel" }) }, { elicitation: { form: {} } }],
    ["a url handler", { onElicitUrl: () => ({ action: "cancel" }) }, { elicitation: { url: {} } }],
    [
      "both",
      { onElicit: () => ({ action: "cancel" }), onElicitUrl: () => ({ action: "cancel" }) },
      { elicitation: { form: {}, url: {} } },
    ],
    ["sampling without tools", { onSample: () => sampled }, { sampling: {} }],
    ["C53: an empty list of roots", { roots: [] }, { roots: { listChanged: true } }],
    ["roots by function", { roots: () => [] }, { roots: {} }],
    ["C52: handlers it keeps to itself", { onSample: () => sampled, capabilities: { sampling: undefined } }, {}],
    ["C51: more than it has handlers for", { capabilities: { sampling: { tools: {} } } }, { sampling: { tools: {} } }],
    [
      "C58: members nobody knows, beside what handlers imply",
      { roots: [], capabilities: { experimental: { x: { deep: [1] } } } },
      { roots: { listChanged: true }, experimental: { x: { deep: [1] } } },
    ],
    ["tasks, unless told not to", { tasks: true }, { extensions: { [tasksExtension]: {} } }],
    [
      "tasks, beside other extensions",
      { tasks: true, capabilities: { extensions: { "com.example/x": { a: 1 } } } },
      { extensions: { [tasksExtension]: {}, "com.example/x": { a: 1 } } },
    ],
    ["no extension at all", { tasks: true, capabilities: { extensions: undefined } }, {}],
  ])("%s", (_, options, capabilities) => {
    expect(createRequestHandlers({ tasks: false, ...options }).capabilities).toStrictEqual(capabilities);
  });

  it("tasks by default, which are no question it could answer", () => {
    const { capabilities, isOpen } = createRequestHandlers();
    expect(capabilities).toStrictEqual({ extensions: { [tasksExtension]: {} } });
    expect(isOpen).toBe(false);
  });

  it("C52: is frozen", () => {
    expect(Object.isFrozen(createRequestHandlers({ roots: [] }).capabilities)).toBe(true);
  });
});

describe("what a client refuses", () => {
  const refusing: Question[] = [form, link("https://example.com"), sampling, rootsList];

  it.each(refusing)("C51: default deny: $method", async (question) => {
    await expect(ask({}, question)).rejects.toMatchObject({
      code: "method-not-found",
      message: `this client does not answer ${question.method}`,
    });
  });

  it.each(refusing)("C51: declared without a handler: $method", async (question) => {
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
    await expect(ask({ capabilities }, question)).rejects.toMatchObject({ code: "method-not-found" });
  });

  it("C52: a handler whose capability is withdrawn is not asked", async () => {
    const options = { onSample: () => sampled, capabilities: { sampling: undefined } };
    await expect(ask(options, sampling)).rejects.toMatchObject({ code: "method-not-found" });
  });

  it("C50, C51: an undeclared mode is invalid-params; no mode means form, and {} means forms only", async () => {
    const onElicit = () => ({ action: "decline" }) as const;
    const both = { onElicit, onElicitUrl: onElicit };
    await expect(ask({ onElicit }, link("https://example.com"))).rejects.toMatchObject({
      code: "invalid-params",
      message: "this client does not declare elicitation.url",
    });
    await expect(ask({ onElicitUrl: onElicit }, form)).rejects.toMatchObject({ code: "invalid-params" });
    const flat = { ...both, capabilities: { elicitation: {} } };
    await expect(ask(flat, link("https://example.com"))).rejects.toMatchObject({ code: "invalid-params" });
    expect(await ask(flat, form)).toEqual({ action: "decline" });
  });

  it.each([{ tools: [] }, { toolChoice: { mode: "auto" } }] as const)(
    "C57: sampling with %j needs sampling.tools",
    async (extra) => {
      const question = { ...sampling, params: { ...sampling.params, ...extra } } as Question;
      await expect(ask({ onSample: () => sampled }, question)).rejects.toMatchObject({
        code: "invalid-params",
        message: "this client does not declare sampling.tools",
      });
      const willing = { onSample: () => sampled, capabilities: { sampling: { tools: {} } } };
      expect(await ask(willing, question)).toBe(sampled);
    },
  );
});

describe("forms", () => {
  it.each<[string, ElicitReply, object]>([
    ["a full result", { action: "accept", content: { sku: "A", qty: 2 } }, { sku: "A", qty: 2 }],
    ["just the content", { sku: "A", qty: 2 }, { sku: "A", qty: 2 }],
    ["content without what has a default", { sku: "A" }, { sku: "A", qty: 1 }],
  ])("C82: accepts %s", async (_, reply, content) => {
    expect(await ask({ onElicit: () => reply }, form)).toEqual({ action: "accept", content });
  });

  it.each<[string, ElicitReply]>([
    ["decline", { action: "decline" }],
    ["cancel", { action: "cancel", content: { sku: "A", qty: 1 } }],
    ["decline", { action: "decline", content: {} }],
  ])("C82: content leaves only with accept: %s", async (action, reply) => {
    expect(await ask({ onElicit: () => reply }, form)).toStrictEqual({ action });
  });

  it("C82: content that breaks the schema is an error that names the field and reaches nobody", async () => {
    await expect(ask({ onElicit: () => ({ sku: "A", qty: "two" }) }, form)).rejects.toMatchObject({
      code: "invalid-response",
      message: expect.stringContaining("/qty"),
      data: { issues: [expect.objectContaining({ path: "/qty", keyword: "type" })] },
    });
  });

  it("C83: a schema that is no form is refused before the handler sees it", async () => {
    let seen = 0;
    const nested = { type: "object", properties: { address: { type: "object", properties: {} } } };
    const question: Question = {
      method: "elicitation/create",
      params: { message: "?", requestedSchema: nested },
    };
    const onElicit = () => {
      seen++;
      return { action: "accept" } as const;
    };
    await expect(ask({ onElicit }, question)).rejects.toMatchObject({
      code: "invalid-params",
      message: expect.stringContaining("address"),
    });
    expect(seen).toBe(0);
  });

  it("a pattern that could take for ever is not tried on what the user typed", async () => {
    const slow = { type: "object", properties: { a: { type: "string", pattern: "(a+)+$" } } };
    const question: Question = { method: "elicitation/create", params: { message: "?", requestedSchema: slow } };
    await expect(ask({ onElicit: () => ({ a: `${"a".repeat(40)}!` }) }, question)).rejects.toMatchObject({
      code: "invalid-params",
      message: expect.stringMatching(/^requestedSchema cannot be checked: #\/properties\/a\/pattern cannot be used: /),
    });
  });

  it.each([[undefined], [{ type: "object" }]])("C86: with the schema %j any object will do", async (schema) => {
    const params = { message: "Go on?", requestedSchema: schema };
    const question = { method: "elicitation/create", params } as unknown as Question;
    const seen: unknown[] = [];
    const onElicit: QuestionHandlers["onElicit"] = (asked) => {
      seen.push(asked.requestedSchema);
      return { any: "thing" };
    };
    expect(await ask({ onElicit }, question)).toEqual({ action: "accept", content: { any: "thing" } });
    expect(seen).toEqual([{ type: "object" }]);
  });

  it("takes an object with an action for a full result only if it has no other fields", async () => {
    const schema = { type: "object", properties: { action: { type: "string" }, sku: { type: "string" } } };
    const question: Question = { method: "elicitation/create", params: { message: "?", requestedSchema: schema } };
    expect(await ask({ onElicit: () => ({ action: "accept", sku: "A" }) }, question)).toEqual({
      action: "accept",
      content: { action: "accept", sku: "A" },
    });
    expect(await ask({ onElicit: () => ({ action: "decline" }) }, question)).toEqual({ action: "decline" });
  });

  it("refuses a reply that is no object", async () => {
    const onElicit = () => 42 as unknown as ElicitReply;
    await expect(ask({ onElicit }, form)).rejects.toMatchObject({ code: "invalid-response" });
  });
});

describe("links", () => {
  it.each([
    ["https://example.com/a?b=c", "example.com"],
    ["https://\u0430pple.com/", "xn--pple-43d.com"],
    ["http://localhost:3000/", "localhost"],
    ["http://127.0.0.1/", "127.0.0.1"],
    ["http://[::1]:8080/", "[::1]"],
  ])("%s comes with its host in ASCII: %s", async (url, host) => {
    const seen: ElicitUrl[] = [];
    const onElicitUrl = (page: ElicitUrl) => {
      seen.push(page);
      return { action: "accept", content: { stripped: true } } as const;
    };
    expect(await ask({ onElicitUrl }, link(url))).toStrictEqual({ action: "accept" });
    expect(seen[0]).toMatchObject({ message: "Sign in", host });
    expect(seen[0]?.url).toBeInstanceOf(URL);
  });

  it.each([
    "http://example.com/",
    "http://127.0.0.1.evil.com/",
    "http://localhost.evil.com/",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "https://bank.com@evil.com/",
    "https://:secret@evil.com/",
    "//example.com",
    "not a url",
    "",
  ])("%s is refused before the handler sees it (V17)", async (url) => {
    let seen = 0;
    const onElicitUrl = () => {
      seen++;
      return { action: "accept" } as const;
    };
    await expect(ask({ onElicitUrl }, link(url))).rejects.toMatchObject({ code: "invalid-params" });
    expect(seen).toBe(0);
  });

  it("C84: the server's word that the user is done resolves the waiter once; unknown ids are ignored", async () => {
    let completed: Promise<boolean> | undefined;
    const heard: unknown[] = [];
    const handlers = createRequestHandlers({
      onElicitUrl: (page) => {
        completed = page.completed;
        return { action: "accept" };
      },
      onNotification: (notification) => heard.push(notification),
    });
    await handlers.answer(link("https://example.com", "e1"), signal);
    for (const elicitationId of ["e2", 1, null, "e1", "e1"]) {
      handlers.onOtherNotification("notifications/elicitation/complete", { elicitationId });
    }
    await expect(completed).resolves.toBe(true);
    expect(heard).toEqual([]);
  });

  /** A page that the user was sent to, and the ways in which that ends. */
  async function visit(action: "accept" | "decline" = "accept") {
    const clock = createManualClock();
    const abort = new AbortController();
    let completed: Promise<boolean> | undefined;
    const onElicitUrl = (page: ElicitUrl) => {
      completed = page.completed;
      return { action };
    };
    const handlers = createRequestHandlers({ onElicitUrl }, clock);
    await handlers.answer(link("https://example.com", "e1"), abort.signal);
    return { clock, abort, handlers, completed };
  }

  it("who waits for the user to be done does not wait for ever (F144)", async () => {
    const late = await visit();
    await late.clock.advanceAsync(600_000);
    expect(await late.completed).toBe(false);

    const cancelled = await visit();
    cancelled.abort.abort();
    expect(await cancelled.completed).toBe(false);

    const closed = await visit();
    closed.handlers.close();
    expect(await closed.completed).toBe(false);

    expect(await (await visit("decline")).completed).toBe(false);
  });

  it("who waits for the user to be done at too many pages waits for the last of them (F144)", async () => {
    const waits: (Promise<boolean> | undefined)[] = [];
    const onElicitUrl = (page: ElicitUrl) => {
      waits.push(page.completed);
      return { action: "accept" } as const;
    };
    const handlers = createRequestHandlers({ onElicitUrl }, createManualClock());
    for (let n = 0; n <= 100; n++) await handlers.answer(link("https://example.com", `e${n}`), signal);
    expect(await waits[0]).toBe(false);
    handlers.onOtherNotification("notifications/elicitation/complete", { elicitationId: "e1" });
    expect(await waits[1]).toBe(true);
  });
});

describe("handlers", () => {
  it("C44: see the signal of whoever asks", async () => {
    const abort = new AbortController();
    const handlers = createRequestHandlers({
      onSample: (_, context) =>
        new Promise((__, reject) => {
          context.signal.addEventListener("abort", () => reject(new McpError("cancelled", "stopped")));
        }),
    });
    const answer = handlers.answer(sampling, abort.signal);
    abort.abort();
    await expect(answer).rejects.toMatchObject({ code: "cancelled" });
  });

  it("of sampling give a role that the protocol knows (F132)", async () => {
    const onSample = () => ({ ...sampled, role: "system" }) as unknown as CreateMessageResult;
    await expect(ask({ onSample }, sampling)).rejects.toMatchObject({
      code: "invalid-response",
      message: 'the role that onSample gave must be user or assistant, not "system"',
    });
  });

  it("get a signal, roots too (C44)", async () => {
    const abort = new AbortController();
    const seen: AbortSignal[] = [];
    const roots = ({ signal: given }: { readonly signal: AbortSignal }): Root[] => {
      seen.push(given);
      return [];
    };
    expect(await createRequestHandlers({ roots }).answer(rootsList, abort.signal)).toEqual({ roots: [] });
    expect(seen).toEqual([abort.signal]);
  });

  it("C81: may answer later, once, with a result or an error", async () => {
    let give = (_: CreateMessageResult): void => {};
    const handlers = createRequestHandlers({
      onSample: () =>
        new Promise((resolve) => {
          give = resolve;
        }),
    });
    const answer = handlers.answer(sampling, signal);
    expect(handlers.activity).toEqual({ pending: 1, served: 0 });
    give(sampled);
    give({ ...sampled, model: "another" });
    expect(await answer).toBe(sampled);
    expect(handlers.activity).toEqual({ pending: 0, served: 1 });
  });

  it("C81: refuse with an error of their own; anything else they throw is internal", async () => {
    const refusal = new McpError("rejected", "the user said no");
    await expect(ask({ onSample: () => Promise.reject(refusal) }, sampling)).rejects.toBe(refusal);
    const cause = new Error("no model");
    const onSample = () => {
      throw cause;
    };
    await expect(ask({ onSample }, sampling)).rejects.toMatchObject({
      code: "internal",
      message: "the handler of sampling/createMessage failed",
      cause,
    });
  });
});

describe("roots", () => {
  const home: Root = { uri: "file:///home" };

  it("C53: an empty list is answered as one", async () => {
    expect(await ask({ roots: [] }, rootsList)).toEqual({ roots: [] });
  });

  it("C54: are replaced all at once, whatever happens to the given array", async () => {
    const handlers = createRequestHandlers({ roots: [home] });
    const before = handlers.answer(rootsList, signal);
    const next = [{ uri: "file:///a" }, { uri: "file:///b" }];
    handlers.setRoots(next);
    next.pop();
    expect(await before).toEqual({ roots: [home] });
    expect(await handlers.answer(rootsList, signal)).toEqual({ roots: [{ uri: "file:///a" }, { uri: "file:///b" }] });
  });

  it.each<QuestionHandlers>([{}, { roots: () => [] }, { roots: [], capabilities: { roots: {} } }])(
    "C54: cannot be set unless roots.listChanged is declared",
    (options) => {
      expect(() => createRequestHandlers(options).setRoots([])).toThrow(McpError);
    },
  );

  it("C55: must start with file://, when given, set or computed", async () => {
    const bad = [home, { uri: "https://example.com" }];
    const error = { code: "invalid-params", message: "root https://example.com must start with file://" };
    expect(() => createRequestHandlers({ roots: bad })).toThrow(expect.objectContaining(error));
    expect(() => createRequestHandlers({ roots: [] }).setRoots(bad)).toThrow(expect.objectContaining(error));
    await expect(ask({ roots: async () => bad }, rootsList)).rejects.toMatchObject(error);
  });
});

describe("notifications that belong to no call", () => {
  it("C19: go to onLog when they are log messages, else to onNotification", () => {
    const logs: unknown[] = [];
    const rest: unknown[] = [];
    const handlers = createRequestHandlers({
      onLog: (entry) => logs.push(entry),
      onNotification: (notification) => rest.push(notification),
    });
    handlers.onOtherNotification("notifications/message", { level: "info", data: "up" });
    handlers.onOtherNotification("notifications/custom", { a: 1 });
    handlers.onOtherNotification("notifications/progress", { progressToken: 7, progress: 1 });
    expect(logs).toEqual([{ level: "info", data: "up" }]);
    expect(rest).toEqual([
      { method: "notifications/custom", params: { a: 1 } },
      { method: "notifications/progress", params: { progressToken: 7, progress: 1 } },
    ]);
  });

  it("never break the reader: what a callback throws, now or later, is a warning", async () => {
    const warnings: ClientWarning[] = [];
    const cause = new Error("callback");
    const handlers = createRequestHandlers({
      onNotification: () => {
        throw cause;
      },
      onWarning: (warning) => {
        warnings.push(warning);
        throw new Error("also broken");
      },
    });
    handlers.onOtherNotification("notifications/custom", {});
    expect(warnings).toEqual([{ kind: "callback-failed", message: "onNotification threw", cause }]);
    const later = createRequestHandlers({
      onNotification: () => Promise.reject(cause),
      onWarning: (warning) => warnings.push(warning),
    });
    later.onOtherNotification("notifications/custom", {});
    await null;
    expect(warnings).toHaveLength(2);
  });
});
