import { describe, expect, it } from "vitest";
import { createLog } from "./support/events.ts";
import { watchFetch } from "./support/over-http.ts";
import { script } from "./support/places.ts";
import { serve, serveEverything } from "./support/serving.ts";
import { call, next, openTalk } from "./support/talk.ts";
import { layWire, noticed } from "./support/wire.ts";

// Our client, servers of others, and a network between them that breaks.

const v1 = script("test/fixtures/official-v1-server.mjs", "--port", "0");
const v2 = script("test/fixtures/official-v2-server.mjs", "--port", "0");
const [servedV1, servedV2] = await Promise.all([serve(v1), serve(v2)]);

const watched = "official://watched";

const steps = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ progress: index + 1, total: count, message: `step ${index + 1}` }));

describe.each([
  { version: 1, program: v1, url: `${servedV1.url}/mcp`, path: "/mcp" },
  { version: 2, program: v2, url: `${servedV2.url}/sessions`, path: "/sessions" },
])("a session with the official server of version $version", ({ program, url, path }) => {
  it("survives twenty cuts in a call, of which nothing is missed", async () => {
    await using wire = await layWire(url);
    await using talk = await openTalk(wire.url);
    const { client, warnings } = talk;
    expect(await call(client, "toggle")).toBe("added");
    let cuts = 0;
    // Who comes back late gets more at once, and is cut less often: then there is another call.
    while (cuts < 20) {
      const heard: unknown[] = [];
      const onProgress = (progress: unknown): void => {
        heard.push(progress);
        if (cuts < 20 && wire.cut() > 0) cuts++;
      };
      const { content } = await client.callTool("slow", { steps: 400 }, { onProgress });
      expect(content).toEqual([{ type: "text", text: "done" }]);
      expect(heard).toEqual(steps(400));
      await noticed(wire);
    }
    expect(wire.sent().split("last-event-id: ").length).toBeGreaterThan(20);
    expect(await call(client, "toggle")).toBe("removed");
    expect(warnings.items).toEqual([]);
  });

  it("survives cuts of many calls at once", async () => {
    await using wire = await layWire(url);
    await using talk = await openTalk(wire.url);
    const { client } = talk;
    let cuts = 0;
    while (cuts < 3) {
      const heard = Array.from({ length: 10 }, (): unknown[] => []);
      const results = heard.map((list) => {
        const onProgress = (progress: unknown): void => {
          list.push(progress);
          if (cuts < 3 && heard.every(({ length }) => length > 0) && wire.cut() > 0) cuts++;
        };
        return client.callTool("slow", { steps: 80 }, { onProgress });
      });
      for (const { content } of await Promise.all(results)) expect(content).toEqual([{ type: "text", text: "done" }]);
      expect(heard).toEqual(heard.map(() => steps(80)));
      await noticed(wire);
    }
  });

  it("is asked before a cut, and answers after it", async () => {
    await using wire = await layWire(url);
    let asked = 0;
    await using talk = await openTalk(wire.url, {
      onElicit: () => {
        asked++;
        wire.cut();
        return { name: "Ada" };
      },
    });
    expect(await call(talk.client, "greet")).toBe("Hello, Ada!");
    expect(asked).toBe(1);
  });

  it("hears of what changed while there was no connection", async () => {
    await using wire = await layWire(url);
    await using talk = await openTalk(wire.url);
    const { client } = talk;
    await using watch = client.watch(watched);
    const changes = watch[Symbol.asyncIterator]();
    await watch.ready;
    for (let round = 0; round < 3; round++) {
      await call(client, "touch");
      expect(await changes.next()).toEqual({ done: false, value: { uri: watched } });
      wire.cut();
      await noticed(wire);
    }
  });

  it("comes back until the server has noticed that the connection is lost", async () => {
    const { fetch, sent } = watchFetch();
    await using wire = await layWire(url);
    await using talk = await openTalk(wire.url, { fetch: fetch as typeof globalThis.fetch });
    const { client, warnings } = talk;
    await using watch = client.watch(watched);
    const changes = watch[Symbol.asyncIterator]();
    await watch.ready;
    await call(client, "touch");
    await changes.next();
    const heard = createLog<unknown>();
    const slow = client.callTool("slow", { steps: 50 }, { onProgress: heard.add });
    await heard.count(3);
    wire.lose();
    // Once for the stream of the call, once for that of the session.
    let conflicts = 0;
    await sent.find(({ status }) => status === 409 && ++conflicts === 2);
    wire.cut();
    expect((await slow).content).toEqual([{ type: "text", text: "done" }]);
    expect(heard.items).toEqual(steps(50));
    await call(client, "touch");
    expect(await changes.next()).toEqual({ done: false, value: { uri: watched } });
    expect(warnings.items).toEqual([]);
  });

  it("is opened anew, once, when the server was started anew", async () => {
    const first = await serve(program);
    await using wire = await layWire(`${first.url}${path}`);
    await using talk = await openTalk(wire.url);
    const { client, logged, warnings } = talk;
    await using watch = client.watch(watched);
    await using changes = client.changes({ tools: true });
    await Promise.all([watch.ready, changes.ready]);
    await client.setLogLevel("debug");
    await call(client, "log");
    await logged.count(2);

    const second = await serve(program);
    wire.moveTo(second.url);
    first.child.kill("SIGKILL");
    await first.ended;
    await noticed(wire);
    const messages = Array.from({ length: 10 }, (_, index) => `message ${index}`);
    expect(await Promise.all(messages.map((message) => call(client, "echo", { message })))).toEqual(messages);
    expect(wire.sent().split('"method":"initialize"')).toHaveLength(3);

    await client.ping();
    const both = Promise.all([next(watch), next(changes)]);
    const touched = both.then(() => true);
    while (
      !(await Promise.race([
        touched,
        call(client, "touch")
          .then(() => call(client, "toggle"))
          .then(() => false),
      ]))
    );
    expect(await both).toEqual([{ uri: watched }, { kind: "tools" }]);
    await call(client, "log");
    expect((await logged.count(4)).slice(2)).toEqual(logged.items.slice(0, 2));
    expect(wire.sent().split('"method":"initialize"')).toHaveLength(3);
    expect(warnings.items).toEqual([]);
  });

  it("fails a call whose server was started anew in the middle of it, and nothing else", async () => {
    const first = await serve(program);
    await using wire = await layWire(`${first.url}${path}`);
    await using talk = await openTalk(wire.url);
    const { client } = talk;
    const heard = createLog<unknown>();
    const slow = client.callTool("slow", { steps: 100_000 }, { onProgress: heard.add });
    slow.catch(() => {});
    await heard.count(1);
    const second = await serve(program);
    wire.moveTo(second.url);
    first.child.kill("SIGKILL");
    await expect(slow).rejects.toMatchObject({ code: "connection-closed" });
    expect(await call(client, "running")).toBe("0");
    expect(await call(client, "echo", { message: "hello" })).toBe("hello");
  });
});

describe("a session with a server that says 400 where others say 404", () => {
  it("is opened anew, once, when the server was started anew", async () => {
    const first = await serveEverything("streamableHttp");
    await using wire = await layWire(`${first.url}/mcp`);
    await using talk = await openTalk(wire.url);
    const { client } = talk;
    expect(await call(client, "echo", { message: "hello" })).toBe("Echo: hello");
    const second = await serveEverything("streamableHttp");
    wire.moveTo(second.url);
    first.child.kill("SIGKILL");
    await first.ended;
    await noticed(wire);
    const messages = Array.from({ length: 10 }, (_, index) => `message ${index}`);
    const echoes = await Promise.all(messages.map((message) => call(client, "echo", { message })));
    expect(echoes).toEqual(messages.map((message) => `Echo: ${message}`));
    expect(wire.sent().split('"method":"initialize"')).toHaveLength(3);
  });

  it("is opened anew when nobody calls, for the sake of those who watch", async () => {
    const first = await serveEverything("streamableHttp");
    await using wire = await layWire(`${first.url}/mcp`);
    await using talk = await openTalk(wire.url);
    const uri = "demo://resource/static/document/architecture.md";
    await using watch = talk.client.watch(uri);
    await watch.ready;
    const second = await serveEverything("streamableHttp");
    wire.moveTo(second.url);
    first.child.kill("SIGKILL");
    await wire.said((sent) => sent.split('"method":"resources/subscribe"').length > 2);
    expect(await call(talk.client, "echo", { message: "hello" })).toBe("Echo: hello");
    expect(wire.sent().split('"method":"initialize"')).toHaveLength(3);
    expect(talk.warnings.items).toEqual([]);
  });
});

describe("a server that has forgotten what it said", () => {
  it("fails the call that was cut, and is listened to from now on", async () => {
    await using wire = await layWire(`${servedV1.url}/forgetful`);
    await using talk = await openTalk(wire.url);
    const { client, warnings } = talk;
    await using watch = client.watch(watched);
    const changes = watch[Symbol.asyncIterator]();
    await watch.ready;
    await call(client, "touch");
    await changes.next();
    const heard = createLog<unknown>();
    const slow = client.callTool("slow", { steps: 100_000 }, { onProgress: heard.add });
    slow.catch(() => {});
    await heard.count(1);
    wire.cut();
    await expect(slow).rejects.toMatchObject({ code: "connection-closed" });
    const change = changes.next();
    const touched = change.then(() => true);
    while (!(await Promise.race([touched, call(client, "touch").then(() => false)])));
    expect(await change).toEqual({ done: false, value: { uri: watched } });
    expect(warnings.items).toEqual([]);
  });
});

describe("without a session", () => {
  it("a cut fails the call, which the server then stops, and nothing else", async () => {
    await using wire = await layWire(`${servedV2.url}/mcp`);
    await using talk = await openTalk(wire.url);
    const { client } = talk;
    expect(client.revision).toBe("2026-07-28");
    const heard = createLog<unknown>();
    const slow = client.callTool("slow", { steps: 100_000 }, { onProgress: heard.add });
    slow.catch(() => {});
    await heard.count(1);
    wire.cut();
    await expect(slow).rejects.toMatchObject({ code: "connection-closed" });
    while ((await call(client, "running")) !== "0");
  });

  it("a cut ends a watch with an error, and another can be opened", async () => {
    await using wire = await layWire(`${servedV2.url}/mcp`);
    await using talk = await openTalk(wire.url);
    const { client } = talk;
    const broken = client.watch(watched);
    await broken.ready;
    wire.cut();
    await expect(next(broken)).rejects.toMatchObject({ code: "connection-closed" });
    await using watch = client.watch(watched);
    await watch.ready;
    await call(client, "touch");
    expect(await next(watch)).toEqual({ uri: watched });
  });

  it("a server that was started anew is not even noticed", async () => {
    const first = await serve(v2);
    await using wire = await layWire(`${first.url}/mcp`);
    await using talk = await openTalk(wire.url);
    const second = await serve(v2);
    wire.moveTo(second.url);
    first.child.kill("SIGKILL");
    await first.ended;
    await noticed(wire);
    expect(await call(talk.client, "echo", { message: "hello" })).toBe("hello");
  });
});

describe("over HTTP+SSE", () => {
  it("a cut ends the connection, for its stream cannot be resumed", async () => {
    await using wire = await layWire(`${servedV1.url}/sse`);
    await using talk = await openTalk(wire.url);
    const { client } = talk;
    const heard = createLog<unknown>();
    const slow = client.callTool("slow", { steps: 100_000 }, { onProgress: heard.add });
    slow.catch(() => {});
    await heard.count(1);
    wire.cut();
    await expect(slow).rejects.toMatchObject({ code: "connection-closed" });
    expect(await client.closed).toMatchObject({ code: "connection-closed" });
    await expect(client.callTool("echo", { message: "hello" })).rejects.toMatchObject({ code: "connection-closed" });
    await using other = await openTalk(wire.url);
    while ((await call(other.client, "running")) !== "0");
  });
});
