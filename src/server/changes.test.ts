import { beforeAll, describe, expect, it } from "vitest";
import { makeCall, type Note } from "../../test/support/direct.ts";
import type { ListenFilter } from "../protocol/subscription.ts";
import type { ServerOptions } from "./options.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer, type Server } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };
const run = () => "";
const all: ListenFilter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
const changed = (kind: string): Note => [`notifications/${kind}/list_changed`, {}];
const updated = (uri: string): Note => ["notifications/resources/updated", { uri }];

const shop = (options: Partial<ServerOptions> = {}): Server =>
  createServer({ ...info, listChanged: true, subscribe: true, tools: {}, prompts: {}, resources: [], ...options });

beforeAll(async () => {
  await import("./lazy-parts.ts");
});

/** Where a change stands among all is of no interest here. */
const plain = ([method, { _meta, ...params }]: Note): Note => [method, params];

function listen(server: Server, notifications: ListenFilter = all) {
  const { call, abort, notes } = makeCall("subscriptions/listen", { notifications });
  const outcome = server(call);
  return { abort, notes, outcome, heard: () => notes.slice(1).map(plain) };
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

describe("listen", () => {
  it.each<[string, Partial<ServerOptions>, ListenFilter, ListenFilter]>([
    [
      "everything that is advertised",
      {},
      { ...all, resourceSubscriptions: ["a://b"] },
      { ...all, resourceSubscriptions: ["a://b"] },
    ],
    ["nothing", {}, {}, {}],
    ["what is false", {}, { toolsListChanged: false, resourceSubscriptions: [] }, {}],
    [
      "lists that do not change",
      { listChanged: false },
      { ...all, resourceSubscriptions: ["a://b"] },
      { resourceSubscriptions: ["a://b"] },
    ],
    ["resources that cannot be watched", { subscribe: false }, { ...all, resourceSubscriptions: ["a://b"] }, all],
  ])("says first what it honours of %s", async (_, options, asked, honoured) => {
    const { notes } = listen(shop(options), asked);
    await turn();
    expect(notes).toStrictEqual([["notifications/subscriptions/acknowledged", { notifications: honoured }]]);
  });

  it("is open to a server that announces nothing", async () => {
    const { notes } = listen(createServer(info));
    await turn();
    expect(notes).toEqual([["notifications/subscriptions/acknowledged", { notifications: {} }]]);
  });

  it("stays open until it is aborted, and then hears nothing more", async () => {
    const server = shop();
    const { abort, heard, outcome } = listen(server);
    let ended = false;
    outcome.then(() => {
      ended = true;
    });
    server.listChanged("tools");
    await turn();
    expect(ended).toBe(false);
    abort.abort("bye");
    expect(await outcome).toEqual({ kind: "complete", result: {} });
    server.listChanged("tools");
    await turn();
    expect(heard()).toEqual([changed("tools")]);
  });

  it("ends at once when it was aborted before", async () => {
    const { call, abort } = makeCall("subscriptions/listen", { notifications: all });
    abort.abort("bye");
    expect(await shop()(call)).toEqual({ kind: "complete", result: {} });
  });

  it("hears only what it asked for", async () => {
    const server = shop();
    const tools = listen(server, { toolsListChanged: true });
    const one = listen(server, { resourceSubscriptions: ["a://1", "a://1"] });
    const two = listen(server, { promptsListChanged: true, resourceSubscriptions: ["a://2"] });
    server.listChanged("tools");
    server.listChanged("prompts");
    server.listChanged("resources");
    server.resourceUpdated("a://1");
    server.resourceUpdated("a://2");
    await turn();
    expect(tools.heard()).toEqual([changed("tools")]);
    expect(one.heard()).toEqual([updated("a://1")]);
    expect(two.heard()).toEqual([changed("prompts"), updated("a://2")]);
  });
});

describe("a change of a list", () => {
  it("C76: is told once for all changes of a turn", async () => {
    const server = shop();
    const { heard } = listen(server);
    for (const name of ["a", "b", "c"]) server.tools.add(name, tool({ run }));
    server.tools.remove("a");
    server.prompts.add("p", prompt({ get: run }));
    expect(heard()).toEqual([]);
    await turn();
    expect(heard()).toEqual([changed("tools"), changed("prompts")]);
    server.tools.remove("b");
    await turn();
    expect(heard()).toEqual([changed("tools"), changed("prompts"), changed("tools")]);
  });

  it("C76: is told for resources and templates", async () => {
    const server = shop();
    const { heard } = listen(server);
    server.resources.add(resource("a://1", { read: run }));
    await turn();
    server.resources.add(resource("a://{x}", { read: run }));
    await turn();
    server.resources.remove("a://{x}");
    await turn();
    expect(heard()).toEqual([changed("resources"), changed("resources"), changed("resources")]);
  });

  it("C76: is told when the last member goes, of a group that came later", async () => {
    const server = createServer({ ...info, listChanged: true });
    server.tools.add("t", tool({ run }));
    const { heard } = listen(server);
    await turn();
    server.tools.remove("t");
    await turn();
    expect(heard()).toEqual([changed("tools"), changed("tools")]);
  });

  it("is not told for what changed nothing", async () => {
    const server = shop({ tools: { t: tool({ run }) } });
    const { heard } = listen(server);
    server.tools.remove("nothing");
    expect(() => server.tools.add("t", tool({ run }))).toThrow("twice");
    await turn();
    expect(heard()).toEqual([]);
  });

  it("is not told for what was there from the start", async () => {
    const { heard } = listen(shop({ tools: { t: tool({ run }) } }));
    await turn();
    expect(heard()).toEqual([]);
  });

  it("C46: is not told, and is no error, when the server does not say so", async () => {
    const server = shop({ listChanged: false });
    const { heard } = listen(server);
    server.tools.add("t", tool({ run }));
    await turn();
    expect(heard()).toEqual([]);
  });

  it("is told by the author, too", async () => {
    const server = shop();
    const { heard } = listen(server);
    server.listChanged("tools");
    server.listChanged("prompts");
    server.listChanged("resources");
    await turn();
    expect(heard()).toEqual([changed("tools"), changed("prompts"), changed("resources")]);
  });
});

describe("announcing", () => {
  it("C47: a resource nobody watches is no error", () => {
    expect(() => shop().resourceUpdated("a://1")).not.toThrow();
  });

  it.each<[string, (server: Server) => void, Partial<ServerOptions>, string]>([
    ["tools", ({ listChanged }) => listChanged("tools"), { listChanged: false }, "tools.listChanged"],
    ["prompts", ({ listChanged }) => listChanged("prompts"), { listChanged: false }, "prompts.listChanged"],
    ["resources", ({ listChanged }) => listChanged("resources"), { listChanged: false }, "resources.listChanged"],
    ["a resource", ({ resourceUpdated }) => resourceUpdated("a://1"), { subscribe: false }, "resources.subscribe"],
  ])(
    "C46: %s throws when the server does not advertise it, and says nothing",
    async (_, announce, options, missing) => {
      const server = shop(options);
      const { heard } = listen(server, { ...all, resourceSubscriptions: ["a://1"] });
      const message = `cannot announce the change: the server does not advertise ${missing}`;
      expect(() => announce(server)).toThrow(expect.objectContaining({ code: "unsupported", message }));
      await turn();
      expect(heard()).toEqual([]);
    },
  );

  it("C46: throws for a group the server does not have", () => {
    const server = createServer({ ...info, listChanged: true, subscribe: true });
    expect(() => server.listChanged("tools")).toThrow("does not advertise tools.listChanged");
    expect(() => server.resourceUpdated("a://1")).toThrow("does not advertise resources.subscribe");
  });
});
