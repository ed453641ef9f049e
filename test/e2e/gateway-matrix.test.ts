import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway/index.ts";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { bearer, createMetrics, openGateway, serveHttp } from "./support/built.ts";
import { createLog } from "./support/events.ts";
import { fronts } from "./support/gateway-fronts.ts";
import { jobs } from "./support/jobs.ts";
import { type OfficialClient, sampled, sessionFor } from "./support/official.ts";
import { script } from "./support/places.ts";
import { type Serving, serve } from "./support/serving.ts";

// Every era in front of a gateway against every era behind it, with programs of the official SDK at both ends.

let v1: Serving;
let v2: Serving;
let ours: HttpServeHandle;
let gateway: Gateway;
let served: HttpServeHandle;

beforeAll(async () => {
  [v1, v2, ours] = await Promise.all([
    serve(script("test/fixtures/official-v1-server.mjs")),
    serve(script("test/fixtures/official-v2-server.mjs", "--port", "0")),
    serveHttp(jobs, { port: 0 }),
  ]);
  const servers = {
    v1: `${v1.url}/mcp`,
    v1stdio: script("test/fixtures/official-v1-stdio-server.mjs"),
    v2: `${v2.url}/mcp`,
    v2sessions: `${v2.url}/sessions`,
    ours: { target: ours.url, connectOptions: { revision: "2026-07-28" as const } },
    oursSessions: { target: ours.url, connectOptions: { revision: "2025-11-25" as const } },
  };
  gateway = await openGateway(servers, { telemetry: createMetrics() });
  served = await serveHttp(gateway, { port: 0, auth: bearer((token) => ({ principal: token })) });
  await gateway.settled();
});

afterAll(async () => {
  await served.close();
  await gateway.close();
  await ours.close();
});

const headers = { authorization: "Bearer ann" };

const backs = ["v1", "v1stdio", "v2", "v2sessions"];

// Version 2 of the official SDK has no tasks at a server. Ours takes its place there, in both eras.
const taskBacks = ["v1", "v1stdio", "oursSessions"];

describe.each(fronts)("a client of $front", ({ front, open }) => {
  const current = sessionFor(() => open({ url: served.url, headers }));

  describe.each(backs)("by the gateway at %s", (back) => {
    const call = (tool: string, args?: Record<string, unknown>): Promise<string> =>
      current().call(`${back}__${tool}`, args);

    it("is asked a form", async () => {
      const session = current();
      session.fill = ({ message }) => ({ action: "accept", content: { name: `the reader of "${message}"` } });
      expect(await call("greet")).toBe('Hello, the reader of "Who are you?"!');
      session.fill = () => ({ action: "decline" });
      expect(await call("greet")).toBe("You said decline.");
    });

    it("is asked one thing after the other", async () => {
      const session = current();
      session.fill = ({ message }) => ({
        action: "accept",
        content: message.startsWith("Who") ? { name: "Ada" } : { color: "blue" },
      });
      expect(await call("paint")).toBe("Ada likes blue.");
    });

    it("is asked for a sample and for its roots", async () => {
      current().sample = () => sampled("A thought");
      expect(await call("think")).toBe("A thought in file:///home");
    });

    it("is asked for a sample with tools", async () => {
      current().sample = ({ tools, toolChoice }) => {
        const [{ name } = { name: "" }] = tools ?? [];
        const content = { type: "tool_use", id: "1", name, input: { city: toolChoice?.mode } } as const;
        return { model: "parrot", role: "assistant", content, stopReason: "toolUse" };
      };
      expect(await call("consult")).toBe('tool_use weather {"city":"required"}');
    });

    it("is sent to a page", async () => {
      const session = current();
      const pages = createLog<unknown>();
      session.fill = (asked) => {
        pages.add({ mode: asked.mode, url: "url" in asked ? asked.url : undefined, message: asked.message });
        return { action: "accept" };
      };
      expect(await call("sign")).toBe("You said accept.");
      expect(pages.items).toEqual([{ mode: "url", url: "https://example.com/sign", message: "Please sign" }]);
      session.fill = () => ({ action: "decline" });
      expect(await call("sign")).toBe("You said decline.");
    });

    it("hears of progress", async () => {
      const heard: unknown[] = [];
      const onprogress = (progress: unknown) => heard.push(progress);
      await current().callTool({ name: `${back}__slow`, arguments: { steps: 3 } }, { onprogress });
      expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
    });

    it("cancels a call", async () => {
      const abort = new AbortController();
      const heard = createLog<object>();
      const options = { signal: abort.signal, onprogress: heard.add };
      const slow = current().callTool({ name: `${back}__slow`, arguments: { steps: 100_000 } }, options);
      slow.catch(() => {});
      await heard.count(1);
      abort.abort("enough");
      await expect(slow).rejects.toThrow("enough");
      while ((await call("running")) !== "0");
    });

    it("gets structured output", async () => {
      const result = await current().callTool({ name: `${back}__add`, arguments: { a: 1, b: 2 } });
      expect(result).toMatchObject({ structuredContent: { sum: 3 }, content: [{ type: "text", text: "3" }] });
    });

    it("gets the error of a tool", async () => {
      expect(await current().callTool({ name: `${back}__fail` })).toMatchObject({ isError: true });
    });

    it("hears log messages", async () => {
      const { logged, logging } = current();
      const before = logged.items.length;
      const heard = () => logged.items.slice(before).map(({ level, data }) => ({ level, data }));
      // Version 1 sends them beside the call: they may come when it is over, and then belong to none.
      const messages = async () => {
        await current().callTool({ name: `${back}__log`, arguments: {}, _meta: logging } as never);
        return heard();
      };
      await expect.poll(messages, { timeout: 30_000 }).toContainEqual({ level: "warning", data: { careful: true } });
      await expect.poll(messages, { timeout: 30_000 }).toContainEqual({ level: "debug", data: "a detail" });
    });

    it("hears of changes of lists", async () => {
      const { changes, client, listen } = current();
      const leave = await listen();
      for (const [change, hasExtra] of [
        ["added", true],
        ["removed", false],
      ] as const) {
        const heard = changes.items.filter((kind) => kind === "tools").length;
        expect(await call("toggle")).toBe(change);
        await expect.poll(() => changes.items.filter((kind) => kind === "tools").length).toBeGreaterThan(heard);
        await expect.poll(async () => (await toolNames(client)).includes(`${back}__extra`)).toBe(hasExtra);
        if (hasExtra) expect(await call("extra")).toBe("I am here.");
      }
      await leave();
    });

    it("hears of changes of a resource", async () => {
      const { changes, client, subscribe } = current();
      const uri = await watchedOf(client, back);
      const leave = await subscribe(uri);
      const before = changes.items.length;
      await call("touch");
      await expect.poll(() => changes.items.slice(before)).toContain(uri);
      await leave();
    });

    it("reads a resource", async () => {
      const uri = await watchedOf(current().client, back);
      const { contents } = await current().client.readResource({ uri });
      expect(contents).toMatchObject([{ uri, text: "watched words" }]);
    });

    it("has arguments completed", async () => {
      const ref = { type: "ref/prompt", name: `${back}__talk` } as const;
      const { completion } = await current().client.complete({ ref, argument: { name: "topic", value: "w" } });
      expect(completion.values).toEqual(["weather", "wine"]);
    });

    it("has the variables of a template completed", async () => {
      const { url } = served;
      const { client } = await open({ url: `${url}/${back}`, headers });
      const ref = { type: "ref/resource", uri: "official://item/{id}" } as const;
      const { completion } = await client.complete({ ref, argument: { name: "id", value: "o" } });
      expect(completion.values).toEqual(["one", "other"]);
      await client.close();
    });

    it("reads a resource that no list has", async () => {
      const { client, callTool } = await open({ url: `${served.url}/${back}`, headers });
      const [link] = (await callTool({ name: "point" })).content as readonly { readonly uri?: string }[];
      expect(link).toMatchObject({ type: "resource_link", uri: "official://unlisted" });
      const { contents } = await client.readResource({ uri: link?.uri ?? "" });
      expect(contents).toMatchObject([{ uri: "official://unlisted", text: "unlisted words" }]);
      await client.close();
      await current().callTool({ name: `${back}__point` });
      expect((await current().client.readResource({ uri: link?.uri ?? "" })).contents).toEqual(contents);
    });

    it("calls a method that only the server knows, in the view of that server", async () => {
      const { client, request } = await open({ url: `${served.url}/${back}`, headers });
      expect(await request("acme/time", { zone: "UTC" })).toMatchObject({ now: 1, zone: "UTC" });
      await expect(request("acme/nothing", {})).rejects.toMatchObject({ code: -32601 });
      await expect(current().request("acme/time", { zone: "UTC" })).rejects.toMatchObject({ code: -32601 });
      await client.close();
    });
  });

  it.each(taskBacks)("runs a task by the gateway at %s", async (back) => {
    const result = await current().startTask(`${back}__job`, { ms: 50 });
    expect(await result()).toBe("the job is done");
  });

  // In 2026-07-28 the server says whether a call becomes a task, so that nobody can want one.
  it("gets the result of a task by the gateway at ours, 2026-07-28", async () => {
    const { startTask, request, call } = current();
    const name = "ours__job";
    const asked = request("tools/call", { name, arguments: { ms: 50 }, task: {} });
    if (front === "v2, 2026-07-28") expect(await (await startTask(name, { ms: 50 }))()).toBe("the job is done");
    else await expect(asked).rejects.toMatchObject({ code: -32601 });
    await asked.catch(() => {});
    expect(await call(name, { ms: 50 })).toBe("the job is done");
  });

  it.each(["v2", "v2sessions"])("is told by the gateway that %s has no tasks", async (back) => {
    const called = current().request("tools/call", { name: `${back}__echo`, arguments: { message: "hi" }, task: {} });
    if (front === "v2, 2026-07-28") expect(await called).toMatchObject({ content: [{ text: "hi" }] });
    else await expect(called).rejects.toMatchObject({ code: -32601 });
  });
});

/** The URI of the resource of a server that changes: servers that use the same one are told apart by the gateway. */
async function watchedOf(client: OfficialClient, server: string): Promise<string> {
  const { resources } = await client.listResources();
  const uris = resources.map(({ uri }) => uri).filter((uri) => decodeURIComponent(uri).endsWith("official://watched"));
  const uri = uris.find((candidate) => candidate.startsWith(`plugbay-resource://${server}/`)) ?? uris[0];
  if (uri === undefined) throw new Error("no server lists the resource");
  return uri;
}

async function toolNames(client: OfficialClient): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}
