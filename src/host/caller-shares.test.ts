// Loaded here, so that nothing in a test waits for it by chance.
import "../server/lazy-parts.ts";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../../test/support/patience.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { ClientInfo } from "../protocol/peer.ts";
import { createCall, type Outcome } from "../protocol/service.ts";
import { tasksExtension } from "../protocol/task.ts";
import { createServer, tool } from "../server/index.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { type Host, type HostBudgets, openHost } from "./index.ts";

// What callers of a host may have at one server, and that nobody takes what is another's.

const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
const yes = { "ask-1": { action: "accept", content: { ok: true } } } as const;

let host: Host | undefined;
let began: string[];
let ends: Map<string, () => void>;

afterEach(() => host?.close());

/** A host whose server says what began there, and goes on when it is told. */
async function open(budgets: HostBudgets): Promise<Host> {
  began = [];
  ends = new Map();
  const held = (name: string, signal: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => {
      began.push(name);
      ends.set(name, () => resolve(name));
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  const shop = createServer({
    name: "shop",
    version: "1",
    stateKeys: ["0op0l4ykw55TFPGq7tfCoIhgQBKQVFpgrTC_P7gktvk"],
    timeoutMs: 0,
    tools: {
      hold: tool({ input: text, run: (input, { signal }) => held(input.text, signal) }),
      work: tool({ input: text, task: "required", run: (input, { signal }) => held(input.text, signal) }),
      ask: tool({
        input: text,
        run: async (input, ctx) => {
          began.push(input.text);
          return `${input.text}: ${(await ctx.ask("Sure?", form)).ok}`;
        },
      }),
    },
  });
  host = await openHost(
    { shop: { target: shop } },
    { budgets, stateKeys: ["fLNrCJkrN1lXNkYDYvSPvsxB5lOU5lVNdZ2RTE7Rsg0"] },
  );
  await host.settled();
  return host;
}

interface Calling {
  readonly state?: string | undefined;
  readonly abort?: LazyAbort;
  readonly tasks?: boolean;
}

const infoOf = (principal: string, tasks: boolean): ClientInfo => ({
  revision: "2026-07-28",
  info: { name: principal, version: "1" },
  capabilities: { elicitation: { form: {} }, ...(tasks && { extensions: { [tasksExtension]: {} } }) },
  auth: { principal },
});

function call(who: string, name: string, said: string, { state, abort, tasks = true }: Calling = {}): Promise<Outcome> {
  if (host === undefined) throw new Error("no host is open");
  return host(
    createCall({
      method: "tools/call",
      params: { name: `shop__${name}`, arguments: { text: said } },
      peer: infoOf(who, tasks),
      abort: abort ?? new LazyAbort(),
      notify: () => undefined,
      ...(state !== undefined && { state, answers: yes }),
      ...(tasks && { tasks: { wanted: false } }),
    }),
  );
}

const end = (name: string): void => ends.get(name)?.();
const hasBegun = (...names: readonly string[]) => eventually(() => expect(began).toEqual(names));
const done = (said: string) => ({ kind: "complete", result: { content: [{ text: said }] } });
const short = (limit: string, max: number, scope = "principal") => ({
  kind: "failed",
  failure: {
    code: "limit-reached",
    message: `budgets.${scope}.${limit} of the host for server shop is ${max}, and used up; retry later`,
    data: { reason: "limit-reached", limit, max, scope, retryAfterMs: 1_000 },
  },
});

describe("calls to a server behind a host (S9)", () => {
  it("wait for those of their own caller only", async () => {
    await open({ principal: { maxRunningCalls: 1 } });
    const calls = [call("ann", "hold", "a1"), call("ann", "hold", "a2")];
    await hasBegun("a1");
    const other = call("bob", "hold", "b1");
    await hasBegun("a1", "b1");
    end("b1");
    expect(await other).toMatchObject(done("b1"));
    expect(began).toEqual(["a1", "b1"]);
    end("a1");
    await hasBegun("a1", "b1", "a2");
    end("a2");
    expect(await Promise.all(calls)).toMatchObject([done("a1"), done("a2")]);
  });

  it("have their turns caller by caller", async () => {
    await open({ process: { maxRunningCalls: 1 } });
    const calls = ["a1", "a2", "a3"].map((name) => call("ann", "hold", name));
    await hasBegun("a1");
    calls.push(call("bob", "hold", "b1"));
    for (const [name, next] of [
      ["a1", ["a1", "a2"]],
      ["a2", ["a1", "a2", "b1"]],
      ["b1", ["a1", "a2", "b1", "a3"]],
    ] as const) {
      end(name);
      await hasBegun(...next);
    }
    end("a3");
    expect(await Promise.all(calls)).toMatchObject(["a1", "a2", "a3", "b1"].map(done));
  });

  it("are refused when too many of the caller wait, and the operator hears of it", async () => {
    const { events } = await open({ principal: { maxRunningCalls: 1, maxQueuedCalls: 1 } });
    const told = events()[Symbol.asyncIterator]();
    const heard = told.next();
    const calls = [call("ann", "hold", "a1"), call("ann", "hold", "a2")];
    await hasBegun("a1");
    expect(await call("ann", "hold", "a3")).toMatchObject(short("maxQueuedCalls", 1));
    const event = { kind: "limit-reached", server: "shop", limit: "maxQueuedCalls", max: 1, scope: "principal" };
    expect(await heard).toEqual({ done: false, value: { ...event, caller: "principal:ann" } });
    const other = call("bob", "hold", "b1");
    await hasBegun("a1", "b1");
    for (const name of ["a1", "b1"]) end(name);
    await hasBegun("a1", "b1", "a2");
    end("a2");
    expect(await Promise.all([...calls, other])).toMatchObject(["a1", "a2", "b1"].map(done));
    await told.return?.();
  });

  it("are never sent when they are cancelled while they wait", async () => {
    await open({ principal: { maxRunningCalls: 1 } });
    const first = call("ann", "hold", "a1");
    await hasBegun("a1");
    const abort = new LazyAbort();
    const second = call("ann", "hold", "a2", { abort });
    const third = call("ann", "hold", "a3");
    abort.abort("enough");
    expect(await second).toMatchObject({ kind: "failed", failure: { code: "cancelled" } });
    end("a1");
    expect(await first).toMatchObject(done("a1"));
    await hasBegun("a1", "a3");
    end("a3");
    expect(await third).toMatchObject(done("a3"));
  });

  it("are refused with a budget that is none when the host is opened", async () => {
    const wrong = openHost({}, { budgets: { principal: { maxTasks: -1 } } });
    await expect(wrong).rejects.toThrow(
      new McpError("invalid-definition", "budgets.principal.maxTasks of openHost must be 0 or more; 0 is off"),
    );
    const other: object = { budgets: { principal: { maxSessions: 1 } } };
    await expect(openHost({}, other)).rejects.toThrow(/maxSessions/);
    const scope: object = { budgets: { connection: { maxTasks: 1 } } };
    await expect(openHost({}, scope)).rejects.toThrow(/connection/);
  });
});

describe("questions of a server behind a host (S9)", () => {
  it("wait for their own caller only, until they are answered", async () => {
    await open({ principal: { maxParkedCalls: 2 } });
    const [first] = [await call("ann", "ask", "a1"), await call("ann", "ask", "a2")];
    expect(await call("ann", "ask", "a3")).toMatchObject(short("maxParkedCalls", 2));
    expect(began).toEqual(["a1", "a2"]);
    const hold = call("ann", "hold", "a4");
    await hasBegun("a1", "a2", "a4");
    end("a4");
    expect(await hold).toMatchObject(done("a4"));
    const other = await call("bob", "ask", "b1");
    expect(other).toMatchObject({ kind: "input-required" });
    const { state } = first as { state?: string };
    expect(await call("ann", "ask", "a1", { state })).toMatchObject(done("a1: true"));
    expect(await call("ann", "ask", "a5")).toMatchObject({ kind: "input-required" });
    expect(await call("ann", "ask", "a6")).toMatchObject(short("maxParkedCalls", 2));
  });

  it("are not given up by somebody else who brings their state", async () => {
    await open({ principal: { maxParkedCalls: 1 } });
    const { state } = (await call("ann", "ask", "a1")) as { state?: string };
    expect(await call("bob", "ask", "a1", { state })).toMatchObject({
      kind: "failed",
      failure: { code: "invalid-params" },
    });
    expect(await call("ann", "ask", "a2")).toMatchObject(short("maxParkedCalls", 1));
  });
});

describe("tasks of a server behind a host (S9)", () => {
  const begun = { kind: "task" };

  it("take the share of their own caller only, until they are over", async () => {
    await open({ principal: { maxTasks: 2 } });
    expect([await call("ann", "work", "a1"), await call("ann", "work", "a2")]).toMatchObject([begun, begun]);
    expect(await call("ann", "work", "a3")).toMatchObject(short("maxTasks", 2));
    expect(await call("bob", "work", "b1")).toMatchObject(begun);
    await hasBegun("a1", "a2", "b1");
    end("a1");
    // Nobody has asked for its end but the host.
    await eventually(async () => expect(await call("ann", "work", "a4")).toMatchObject(begun));
    await hasBegun("a1", "a2", "b1", "a4");
  });

  it("give way to those of others, who have fewer of them", async () => {
    await open({ process: { maxTasks: 3 } });
    const tasks = [await call("ann", "work", "a1"), await call("ann", "work", "a2"), await call("ann", "work", "a3")];
    expect(tasks).toMatchObject([begun, begun, begun]);
    expect(await call("bob", "work", "b1")).toMatchObject(begun);
    const [taskId] = tasks.map((outcome) => (outcome.kind === "task" ? outcome.task.taskId : ""));
    const peer = infoOf("ann", true);
    const get = { method: "tasks/get", params: { taskId: taskId ?? "" }, peer, tasks: { wanted: false } } as const;
    await eventually(async () => {
      const found = await host?.(createCall({ ...get, abort: new LazyAbort(), notify: () => undefined }));
      expect(found).toMatchObject({ kind: "complete", result: { status: "cancelled" } } satisfies JsonObject);
    });
  });

  it("take no turn of a caller that waits for their end", async () => {
    await open({ principal: { maxRunningCalls: 1 } });
    const waiting = call("ann", "work", "a1", { tasks: false });
    await hasBegun("a1");
    const second = call("ann", "hold", "a2");
    await hasBegun("a1", "a2");
    end("a2");
    expect(await second).toMatchObject(done("a2"));
    end("a1");
    expect(await waiting).toMatchObject(done("a1"));
  });
});
