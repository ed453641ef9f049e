import { describe, expect, it, vi } from "vitest";
import { answerOpening, opening } from "../../../test/support/connected.ts";
import { gate, request, serveLegacy } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import { metaKeys } from "../../protocol/meta.ts";
import type { Method, Params } from "../../protocol/methods.ts";
import { type Call, createCall, type Outcome, type Service } from "../../protocol/service.ts";
import { type Task, tasksExtension } from "../../protocol/task.ts";
import type { Context } from "../../server/context.ts";
import { createServer, tool } from "../../server/index.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { createManualClock } from "../../testing/clock.ts";
import { createFakePeer } from "../../testing/fake-peer.ts";
import { openChannel } from "../../transport/open-channel.ts";

const task: Task = { taskId: "t", status: "working", createdAt: "c", lastUpdatedAt: "l", ttlMs: null };
const legacyTask = { taskId: "t", status: "working", createdAt: "c", lastUpdatedAt: "l", ttl: null };
const related = { [metaKeys.relatedTask]: { taskId: "t" } };
const capabilities = { tools: {}, extensions: { [tasksExtension]: {} } };
const inCore = { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } };

/** A service with tasks, of which the test says how it answers. */
function withTasks(answer: (call: Call) => Promise<Outcome>): Service {
  const serverInfo = { name: "s", version: "1" };
  const discovery = { kind: "complete", result: { supportedVersions: [], capabilities, serverInfo } } as const;
  return (async (call: Call) => (call.method === "server/discover" ? discovery : answer(call))) as Service;
}

describe("a server of 2025-11-25", () => {
  it("says what it asks for a task, and for no other call, whose it is", async () => {
    const question = { method: "roots/list", params: { _meta: { own: 1, ...related } } } as const;
    const service = withTasks(async ({ ask }) => {
      await ask?.(question);
      return { kind: "complete", result: { content: [] } };
    });
    const { client } = await serveLegacy(service, { capabilities: { roots: {} } });
    client.say(request("r", "tasks/result", { taskId: "t" }));
    const asked = await client.expect("roots/list");
    expect(asked.params).toEqual({ _meta: { own: 1, ...related } });
    client.reply(asked, { roots: [] });
    expect(await client.next()).toMatchObject({ id: "r", result: { content: [], _meta: related } });

    client.say(request("c", "tools/call", { name: "buy" }));
    expect((await client.expect("roots/list")).params).toEqual({ _meta: { own: 1 } });
  });

  it("hears that a task is wanted, and answers with one", async () => {
    const heard = vi.fn();
    const service = withTasks(async ({ method, tasks }) => {
      if (method === "tools/call") heard(tasks);
      return { kind: "task", task };
    });
    const { client } = await serveLegacy(service);
    const reply = await client.request("tools/call", { name: "buy", task: { ttl: 5 } });
    expect(reply).toMatchObject({ result: { task: legacyTask } });
    expect(heard).toHaveBeenCalledExactlyOnceWith({ wanted: true, ttlMs: 5 });
  });
});

describe("a server of 2025-11-25 that runs a task", () => {
  /** A server with one tool that runs as a task, up to where the test lets it. */
  async function begin(progressToken: string | number | undefined, run: (context: Context) => unknown) {
    const tools = { work: tool({ task: "required", run: (_, context) => run(context) }) };
    const server = createServer({ name: "shop", version: "1", tools });
    const served = await serveLegacy(server, { capabilities: { elicitation: {} } });
    const { client } = served;
    const meta = progressToken === undefined ? {} : { _meta: { progressToken } };
    const { result } = await client.request("tools/call", { name: "work", task: {}, ...meta });
    const { taskId } = (result as unknown as { task: Task }).task;
    const about = { [metaKeys.relatedTask]: { taskId } };
    return { ...served, taskId, about };
  }

  it.each(["token", 7])("tells of progress by the token %j of its call, until it ends (C25)", async (progressToken) => {
    const [more, end] = [gate(), gate()];
    const { client, about } = await begin(progressToken, async ({ progress }) => {
      progress(1, 3);
      await more.opened;
      progress(2, 3, "nearly");
      await end.opened;
      progress(3, 3);
      return "done";
    });
    const next = async () => (await client.expect("notifications/progress")).params;
    expect(await next()).toEqual({ progressToken, progress: 1, total: 3, _meta: about });
    more.open();
    expect(await next()).toEqual({ progressToken, progress: 2, total: 3, message: "nearly", _meta: about });
    end.open();
    expect(await next()).toEqual({ progressToken, progress: 3, total: 3, _meta: about });
    expect((await client.expect("notifications/tasks/status")).params).toMatchObject({ status: "completed" });
  });

  it("tells how it stands when that is another, and nothing after the end (F159)", async () => {
    const { client, taskId, settled } = await begin(undefined, async ({ progress, ask }) => {
      progress(1, 2, "half");
      progress(1.5, 2);
      await ask("Sure?");
      return "done";
    });
    const next = async () => (await client.expect("notifications/tasks/status")).params;
    expect(await next()).toMatchObject({ taskId, status: "working", statusMessage: "half", ttl: 3_600_000 });
    expect(await next()).toMatchObject({ taskId, status: "input_required" });
    client.say(request("r", "tasks/result", { taskId }));
    client.reply(await client.expect("elicitation/create"), { action: "accept", content: {} });
    expect(await next()).toMatchObject({ taskId, status: "working" });
    expect(await next()).toMatchObject({ taskId, status: "completed" });
    const rest = client.request("tasks/get", { taskId });
    await settled();
    expect(await rest).toMatchObject({ result: { status: "completed" } });
  });

  it("says nothing of it to a client that has gone (F159)", async () => {
    const { opened, open } = gate();
    const { serving, client, settled } = await begin("t", async ({ progress }) => {
      await opened;
      progress(1);
      return "done";
    });
    await serving.close();
    open();
    await settled();
    expect(client.heard.filter(({ method }) => String(method).startsWith("notifications/"))).toEqual([]);
  });
});

describe("a client of 2025-11-25", () => {
  async function open(answer: () => Promise<JsonObject> = async () => ({ roots: [] })) {
    const clock = createManualClock();
    const server = createFakePeer();
    const notified = vi.fn();
    const given = opening(clock, { answer, notified, revision: "2025-11-25" });
    const opened = openChannel(server.channel, given);
    await answerOpening(server, "2025-11-25", inCore);
    const { service, peer } = await opened;
    const heard: [string, JsonObject][] = [];
    const call = <M extends Method>(method: M, params: Params<M>, wantsProgress = false) =>
      service(
        createCall<M>({
          method,
          params,
          peer,
          abort: new LazyAbort(),
          notify: (name, content) => void heard.push([name, content]),
          tasks: { wanted: true },
          wantsProgress,
        }),
      );
    return { server, notified, heard, call, settled: () => clock.advanceAsync(0) };
  }

  it("knows that the server has tasks", async () => {
    const { call } = await open();
    expect(await call("server/discover", {})).toMatchObject({ result: { capabilities } });
  });

  it("asks for a task, and reads it", async () => {
    const { server, call } = await open();
    const outcome = call("tools/call", { name: "buy" });
    const asked = await server.expect("tools/call");
    expect(asked.params).toEqual({ name: "buy", arguments: {}, task: {} });
    server.reply(asked, { task: legacyTask });
    expect(await outcome).toEqual({ kind: "task", task });
  });

  it("answers for the task that it was asked for", async () => {
    const { server } = await open();
    expect(await server.request("roots/list", { _meta: related })).toMatchObject({
      result: { roots: [], _meta: related },
    });
    expect((await server.request("roots/list", {})).result).toEqual({ roots: [] });
  });

  it("hears of the progress of a task by the token of its call, until the task ends (C25)", async () => {
    const { server, heard, notified, call, settled } = await open();
    const outcome = call("tools/call", { name: "buy" }, true);
    const asked = await server.expect("tools/call");
    const { progressToken } = (asked.params as { _meta: { progressToken: number } })._meta;
    const tell = (progress: number) =>
      server.notify("notifications/progress", { progressToken, progress, _meta: related });
    tell(1);
    server.reply(asked, { task: legacyTask });
    tell(2);
    await outcome;
    tell(3);
    await settled();
    expect(heard).toEqual([1, 2, 3].map((progress) => ["notifications/progress", { progress, _meta: related }]));
    server.notify("notifications/tasks/status", { ...legacyTask, status: "completed" });
    await settled();
    tell(4);
    await settled();
    expect(heard).toHaveLength(3);
    // That a task is over concerns everybody; progress of what is over, nobody.
    expect(notified.mock.calls.map(([method]) => method)).toEqual(["notifications/tasks"]);
  });

  it("tells in one name of tasks, to who listens for them or else to everybody", async () => {
    const { server, notified, heard, call, settled } = await open();
    void call("subscriptions/listen", { notifications: { taskIds: ["t"] } });
    await settled();
    server.notify("notifications/tasks/status", legacyTask);
    server.notify("notifications/tasks/status", { ...legacyTask, taskId: "other" });
    server.notify("notifications/tasks/status", {});
    await settled();
    // That a server tells of tasks cannot be confirmed.
    expect(heard).toEqual([
      ["notifications/subscriptions/acknowledged", { notifications: {} }],
      ["notifications/tasks", task],
    ]);
    expect(notified.mock.calls).toEqual([["notifications/tasks", { ...task, taskId: "other" }]]);
  });
});
