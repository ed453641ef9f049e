import { describe, expect, it } from "vitest";
import { connect, dial } from "../connect/connect.ts";
import type { ClientConnection, Dial } from "../connect/create-connect.ts";
import { createLock } from "../lock/approve.ts";
import { diffLock } from "../lock/diff-lock.ts";
import { formatLockDiff } from "../lock/format-lock-diff.ts";
import type { Ending } from "../protocol/connection.ts";
import { McpError } from "../protocol/errors.ts";
import { createServer, prompt, resource, type Server, tool } from "../server/index.ts";
import { createManualClock } from "../testing/clock.ts";
import type { HostChange } from "./change-feed.ts";
import { createHost, type Host, type HostOptions } from "./host.ts";
import { cutKey } from "./results.ts";
import type { ServerSpec } from "./spec.ts";

const shop = () =>
  createServer({
    name: "shop",
    version: "1",
    instructions: "Buy here.",
    tools: {
      buy: tool({ description: "Buys", run: () => "bought" }),
      look: tool({ annotations: { readOnlyHint: true }, run: () => "looked" }),
    },
    prompts: { offer: prompt({ get: () => "An offer" }) },
    resources: [
      resource("stock://all", { read: () => "plenty" }),
      resource("stock://{sku}", { read: ({ sku }) => sku }),
    ],
    listChanged: true,
    subscribe: true,
  });

const bank = () =>
  createServer({
    name: "bank",
    version: "2",
    tools: { pay: tool({ run: () => "paid" }) },
    resources: [resource("stock://all", { read: () => "gold" })],
  });

function open(specs: Readonly<Record<string, ServerSpec>>, options: HostOptions = {}, by: Dial = dial): Host {
  return createHost(specs, options, { dial: by });
}

/** A way to servers that can be cut. */
function breakable(target: Server) {
  const ends: ((ending: Ending) => void)[] = [];
  let dials = 0;
  let refusal: McpError | undefined;
  const way: Dial = async (_, options) => {
    dials++;
    if (refusal !== undefined) throw refusal;
    const line = await dial(target, options);
    let end = (_: Ending): void => {};
    const ended = new Promise<Ending>((resolve) => {
      end = resolve;
    });
    ends.push(end);
    void line.connection.ended.then(end);
    return { ...line, connection: { ...line.connection, ended } } satisfies ClientConnection;
  };
  return {
    way,
    cut: () => ends.at(-1)?.({ code: "connection-closed", message: "gone", data: { stderr: "oh no" } }),
    refuse(error: McpError | undefined) {
      refusal = error;
    },
    get dials() {
      return dials;
    },
  };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function take<T>(items: AsyncIterable<T>, count: number): Promise<readonly T[]> {
  const seen: T[] = [];
  for await (const item of items) if (seen.push(item) >= count) break;
  return seen;
}

describe("a host", () => {
  it("lists what all servers have, in their order (C137)", async () => {
    await using host = open({ shop: { target: shop() }, bank: { target: bank() } });
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["shop:buy", "shop:look", "bank:pay"]);
    expect((await host.listResources()).map(({ server, uri }) => [server, uri])).toEqual([
      ["shop", "stock://all"],
      ["bank", "stock://all"],
    ]);
    expect((await host.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual(["stock://{sku}"]);
    expect((await host.listPrompts()).map(({ server, name }) => [server, name])).toEqual([["shop", "offer"]]);
    expect(await host.listInstructions()).toMatchObject([{ server: "shop", text: "Buy here." }]);
  });

  it("calls a tool by its name or its alias; servers never see either (C136)", async () => {
    const names: string[] = [];
    const target = createServer({
      name: "s",
      version: "1",
      tools: { echo: tool({ run: () => "echo" }) },
      middleware: [
        (next) => (call) => {
          if (call.method === "tools/call") names.push((call.params as { name: string }).name);
          return next(call);
        },
      ],
    });
    await using host = open({ s: { target } });
    const [echo] = await host.listTools();
    await host.callTool("s:echo");
    await host.callTool(echo?.alias ?? "");
    expect(names).toEqual(["echo", "echo"]);
    expect(echo?.alias).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it("opens with a server that is off, whatever its target says", async () => {
    const disabled = { code: "invalid-config", message: "mcp.json:3: no command" } as const;
    await using host = open({ broken: { target: { command: "" }, disabled }, shop: { target: shop() } });
    expect(await host.settled()).toMatchObject([{ state: "off", reason: disabled }, { state: "ready" }]);
  });

  it("has its tools as functions that return values, by their full names", async () => {
    await using host = open({ shop: { target: shop() }, bank: { target: bank() } });
    expect(await host.tools["shop:buy"]?.()).toBe("bought");
    expect(await host.tools["bank:pay"]?.({})).toBe("paid");
    await expect(host.tools["bank:buy"]?.()).rejects.toMatchObject({ code: "invalid-params" });
  });

  it("says which tools it withholds, by what, and which servers are missing", async () => {
    const specs = {
      shop: { target: shop(), tools: { deny: ["look"] } },
      bank: { target: bank() },
      gone: { target: "no-such-program" },
    };
    await using host = open(specs, { policy: [{ tools: "bank:*", action: "deny" }] });
    await host.settled();
    const tools = await host.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["shop:buy"]);
    expect(tools.missing.map(({ server }) => server)).toEqual(["gone"]);
    expect(tools.withheld).toEqual([
      { server: "shop", name: "shop:look", by: "filter", reason: "the tool filter of server shop" },
      { server: "bank", name: "bank:pay", by: "policy", reason: "rule 1 of the policy" },
    ]);
    const lock = await createLock(await host.readSurfaces().catch(() => []));
    host.setLock(lock);
    expect((await host.listTools()).withheld).toEqual([]);
  });

  it("says which tools it withholds because they are not what was approved, or were never approved", async () => {
    const named = { name: "shop", version: "1" } as const;
    const look = tool({ run: () => "looked" });
    const before = createServer({ ...named, tools: { look, buy: tool({ description: "Buys", run: () => "" }) } });
    const tools = { look, buy: tool({ description: "Buys, and more", run: () => "" }), sell: tool({ run: () => "" }) };
    await using approved = open({ shop: { target: before } });
    await approved.settled();
    await using host = open(
      { shop: { target: createServer({ ...named, tools }) } },
      { lock: await createLock(await approved.readSurfaces()) },
    );
    await host.settled();
    const listed = await host.listTools();
    expect(listed.map(({ name }) => name)).toEqual(["shop:look"]);
    expect(listed.withheld).toEqual([
      {
        server: "shop",
        name: "shop:buy",
        by: "lock",
        reason: "the lockfile: the tool is not what was approved",
      },
      { server: "shop", name: "shop:sell", by: "lock", reason: "the lockfile: nobody has approved the tool" },
    ]);
    await expect(host.callTool("shop:sell")).rejects.toMatchObject({ code: "denied", data: { by: "lock" } });
  });

  it("tells an unknown tool from an unknown server, and which there are (C141, X7)", async () => {
    await using host = open({ shop: { target: shop() }, bank: { target: bank() } });
    const failure = (call: Promise<unknown>) => call.catch((error: McpError) => error);
    expect(await failure(host.callTool("buy"))).toMatchObject({
      code: "invalid-params",
      message: 'unknown tool "buy"; did you mean shop:buy or bank:pay?',
      data: { reason: "unknown-tool", name: "buy", similar: ["shop:buy", "bank:pay"] },
    });
    expect(await failure(host.callTool("shop.look"))).toMatchObject({ data: { similar: ["shop:look"] } });
    expect(await failure(host.callTool("weather"))).toMatchObject({
      message: 'unknown tool "weather"; there are 3 tools: shop:buy, shop:look, bank:pay',
      data: { similar: [] },
    });
    expect(await failure(host.callTool("nobody:buy"))).toMatchObject({
      code: "invalid-params",
      message: 'there is no server "nobody"; there are: shop, bank',
      data: { reason: "unknown-server", name: "nobody", similar: [] },
    });
    expect(await failure(host.callTool("banc:buy"))).toMatchObject({ data: { similar: ["bank"] } });
    expect(await failure(host.readResource("nobody", "a:b"))).toMatchObject({ data: { reason: "unknown-server" } });
    expect(await failure(host.callTool("x".repeat(1_000_000)))).toMatchObject({
      message: expect.stringMatching(/^.{1,400}$/),
    });
  });

  it("names the tools of a server that it does list where its lists are judged (X7)", async () => {
    await using host = open({ shop: { target: shop() } }, { policy: [{ tools: "shop:*", action: "allow" }] });
    await expect(host.callTool("shop:bui")).rejects.toMatchObject({
      message: 'server shop lists no tool "bui"; did you mean buy?',
      data: { reason: "unknown-tool", similar: ["buy"] },
    });
  });

  it("names unknown tools and prompts to its clients as they know them (X7)", async () => {
    const unreachable = new McpError("connection-closed", "spawn /secret/path ENOENT");
    const partly: Dial = (target, options) =>
      target === "broken" ? Promise.reject(unreachable) : dial(target, options);
    await using host = open({ shop: { target: shop() }, broken: { target: "broken" } }, {}, partly);
    await host.settled();
    await using client = await connect(host);
    await expect(client.callTool("shop__bui")).rejects.toMatchObject({
      code: "invalid-params",
      message: 'unknown tool "shop__bui"; did you mean shop__buy?; servers that could not be asked: broken',
      data: { reason: "unknown-tool", similar: ["shop__buy"] },
    });
    await expect(client.getPrompt("shop__ofer")).rejects.toMatchObject({
      message: expect.stringContaining("did you mean shop__offer?"),
      data: { reason: "unknown-prompt" },
    });
    // What is wrong with a server is for the owner of the host to know.
    await expect(client.callTool("broken:any")).rejects.toMatchObject({
      code: "internal",
      message: "server broken is not available",
    });
  });

  it.each(["", "a:b", "a\nb", "x".repeat(129)])("takes no server of the name %j (C136)", (name) => {
    expect(() => open({ [name]: { target: shop() } })).toThrow(expect.objectContaining({ code: "invalid-config" }));
  });

  it("has one server of a name, and a server gets no other name by what it says of itself (V15)", async () => {
    const impostor = createServer({ name: "bank", version: "2", tools: { pay: tool({ run: () => "stolen" }) } });
    await using host = open({ bank: { target: bank() }, shop: { target: impostor } });
    expect(() => host.add("bank", { target: impostor })).toThrow(
      expect.objectContaining({ code: "invalid-config", message: 'there is a server "bank" already' }),
    );
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["bank:pay", "shop:pay"]);
    expect((await host.callTool("bank:pay")).content).toMatchObject([{ text: "paid" }]);
  });

  it("addresses resources and prompts by server and name (C140)", async () => {
    await using host = open({ shop: { target: shop() }, bank: { target: bank() } });
    const read = async (server: string) => (await host.readResource(server, "stock://all")).contents[0];
    expect(await read("shop")).toMatchObject({ text: "plenty" });
    expect(await read("bank")).toMatchObject({ text: "gold" });
    expect((await host.getPrompt("shop", "offer")).messages[0]).toMatchObject({ content: { text: "An offer" } });
  });

  it("never mixes up answers, though all servers are asked with the same ids (C139)", async () => {
    const numbered = (number: number) =>
      createServer({
        name: "n",
        version: "1",
        tools: {
          who: tool({
            run: async () => {
              await new Promise((resolve) => setImmediate(resolve));
              return `${number}`;
            },
          }),
        },
      });
    const specs = [0, 1, 2, 3].map((number) => [
      `n${number}`,
      // Over a wire, so that requests have ids: each connection counts from the same number.
      { target: numbered(number), options: { revision: number % 2 === 0 ? "2025-11-25" : "2025-03-26" } },
    ]);
    await using host = open(Object.fromEntries(specs));
    const calls = Array.from({ length: 40 }, async (_, index) => {
      const { content } = await host.callTool(`n${index % 4}:who`);
      return content[0];
    });
    expect(await Promise.all(calls)).toMatchObject(
      Array.from({ length: 40 }, (_, index) => ({ text: `${index % 4}` })),
    );
  });

  it("skips servers that fail, and says why (C137, C142)", async () => {
    const broken: Dial = (target, options) =>
      options?.info === undefined || target === "bad"
        ? Promise.reject(new McpError("connection-closed", "spawn bad ENOENT"))
        : dial(target, options);
    await using host = open({ bad: { target: "bad" }, shop: { target: shop() } }, {}, broken);
    const tools = await host.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["shop:buy", "shop:look"]);
    expect(tools.missing).toMatchObject([
      { server: "bad", reason: { code: "connection-closed" }, hint: expect.stringContaining("PATH") },
    ]);
    expect(await host.settled()).toMatchObject([
      { name: "bad", state: "down" },
      { name: "shop", state: "ready" },
    ]);
    await expect(host.client("shop")).resolves.toBeDefined();
  });

  it("connects lazily when told so, once for all who wait", async () => {
    const link = breakable(shop());
    await using host = open({ shop: { target: "x" } }, { connect: "lazy" }, link.way);
    expect(host.servers()).toMatchObject([{ state: "idle" }]);
    expect(link.dials).toBe(0);
    await Promise.all([host.callTool("shop:buy"), host.callTool("shop:look"), host.listTools()]);
    expect(link.dials).toBe(1);
  });

  it("connects to so many at once", async () => {
    let open_ = 0;
    let most = 0;
    const counting: Dial = async (target, options) => {
      most = Math.max(most, ++open_);
      await turn();
      open_--;
      return dial(target, options);
    };
    const specs = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`s${index}`, { target: bank() }]));
    await using host = open(specs, { maxConnecting: 3 }, counting);
    expect((await host.listTools()).length).toBe(10);
    expect(most).toBe(3);
  });

  it("a closed host has closed every client, and takes nothing more (C143)", async () => {
    const host = open({ shop: { target: shop() } });
    const client = await host.client("shop");
    await host.close();
    await host.close();
    await expect(client.closed).resolves.toBeUndefined();
    await expect(host.callTool("shop:buy")).rejects.toMatchObject({ code: "connection-closed" });
    expect(() => host.add("bank", { target: bank() })).toThrow(expect.objectContaining({ code: "connection-closed" }));
  });
});

describe("a server of a host that breaks", () => {
  it("is connected to again by itself, and the others are not touched (C142)", async () => {
    const clock = createManualClock();
    const link = breakable(shop());
    await using host = open({ shop: { target: "x" } }, { clock }, link.way);
    await host.settled();
    link.cut();
    await turn();
    expect(host.servers()).toMatchObject([
      { state: "down", reason: { message: "gone" }, stderr: "oh no", retryInMs: 250 },
    ]);
    expect((await host.listTools()).missing).toMatchObject([{ server: "shop" }]);
    await clock.advanceAsync(250);
    expect(await host.settled()).toMatchObject([{ state: "ready" }]);
    expect(link.dials).toBe(2);
  });

  it("is tried again also where timers come a little early", async () => {
    const steady = createManualClock();
    const early = { now: steady.now, after: (ms: number, task: () => void) => steady.after(Math.max(1, ms - 1), task) };
    const link = breakable(shop());
    await using host = open({ shop: { target: "x" } }, { clock: early }, link.way);
    await host.settled();
    link.cut();
    await turn();
    await steady.advanceAsync(251);
    expect(await host.settled()).toMatchObject([{ state: "ready" }]);
  });

  it("a call while it is down waits for the next attempt", async () => {
    const clock = createManualClock();
    const link = breakable(shop());
    await using host = open({ shop: { target: "x" } }, { clock, connect: "lazy" }, link.way);
    await host.callTool("shop:buy");
    link.cut();
    await turn();
    const waiting = host.callTool("shop:buy");
    await clock.advanceAsync(250);
    await expect(waiting).resolves.toMatchObject({ content: [{ text: "bought" }] });
  });

  it("a call fails with the reason when that attempt fails too", async () => {
    const clock = createManualClock();
    const link = breakable(shop());
    link.refuse(new McpError("unauthorized", "who are you?"));
    await using host = open({ shop: { target: "x" } }, { clock }, link.way);
    await expect(host.callTool("shop:buy")).rejects.toMatchObject({
      code: "unauthorized",
      message: "server shop is not available: who are you?",
    });
    expect(host.servers()).toMatchObject([{ hint: expect.stringContaining("auth") }]);
  });

  it("one that breaks again and again is left alone until it is needed", async () => {
    const clock = createManualClock();
    const link = breakable(shop());
    link.refuse(new McpError("connection-closed", "crash"));
    await using host = open({ shop: { target: "x" } }, { clock, restart: { maxFailures: 3 } }, link.way);
    await clock.advanceAsync(60_000);
    expect(link.dials).toBe(3);
    expect(host.servers()).toMatchObject([{ state: "down", isLooping: true }]);
    link.refuse(undefined);
    await expect(host.callTool("shop:buy")).resolves.toBeDefined();
    expect(link.dials).toBe(4);
  });

  it("within the time of the breaker calls fail at once", async () => {
    const clock = createManualClock();
    const link = breakable(shop());
    link.refuse(new McpError("connection-closed", "crash"));
    await using host = open({ shop: { target: "x" } }, { clock, restart: { maxFailures: 1 } }, link.way);
    await host.settled();
    await expect(host.callTool("shop:buy")).rejects.toMatchObject({ code: "connection-closed" });
    expect(link.dials).toBe(1);
    host.restart("shop");
    await host.settled();
    expect(link.dials).toBe(2);
  });

  it("is let go when nobody uses it, and comes back", async () => {
    const clock = createManualClock();
    const link = breakable(shop());
    await using host = open({ shop: { target: "x", idleTimeoutMs: 1_000 } }, { clock, connect: "lazy" }, link.way);
    await host.callTool("shop:buy");
    await clock.advanceAsync(999);
    await host.callTool("shop:buy");
    await clock.advanceAsync(999);
    expect(host.servers()).toMatchObject([{ state: "ready" }]);
    await clock.advanceAsync(1);
    expect(host.servers()).toMatchObject([{ state: "idle" }]);
    await host.callTool("shop:buy");
    expect(link.dials).toBe(2);
  });

  it("is given up when it does not answer a ping", async () => {
    const clock = createManualClock();
    const silent: Dial = async (target, options) => {
      const line = await dial(target, options);
      const client = { ...line.client, ping: () => Promise.reject(new McpError("timeout", "no answer")) };
      return { client, connection: { ...line.connection, ping: async () => {} } };
    };
    await using host = open({ shop: { target: shop() } }, { clock, pingIntervalMs: 1_000 }, silent);
    await host.settled();
    await clock.advanceAsync(1_000);
    expect(host.servers()).toMatchObject([{ state: "down", reason: { code: "timeout" } }]);
  });

  it("calls that were under way are sent again only where that is said to do no harm", async () => {
    const clock = createManualClock();
    const runs: string[] = [];
    let hold = true;
    const slow = (name: string) => () => {
      runs.push(name);
      return hold ? new Promise<string>(() => {}) : name;
    };
    const target = createServer({
      name: "s",
      version: "1",
      tools: {
        buy: tool({ run: slow("buy") }),
        look: tool({ annotations: { readOnlyHint: true }, run: slow("look") }),
        put: tool({ annotations: { idempotentHint: true }, run: slow("put") }),
      },
    });
    const link = breakable(target);
    const way: Dial = async (to, options) => {
      const line = await link.way(to, options);
      void line.connection.ended.then((ending) => ending && line.client.close());
      return line;
    };
    await using host = open({ s: { target: "x" } }, { clock }, way);
    await host.listTools();
    const calls = ["buy", "look", "put"].map((name) => host.callTool(`s:${name}`));
    const settled = Promise.allSettled(calls);
    await turn();
    hold = false;
    link.cut();
    await turn();
    await clock.advanceAsync(1_000);
    const [buy, look, put] = await settled;
    expect(buy).toMatchObject({ status: "rejected", reason: { code: "connection-closed" } });
    expect([look?.status, put?.status]).toEqual(["fulfilled", "fulfilled"]);
    expect(runs.toSorted()).toEqual(["buy", "look", "look", "put", "put"]);
  });
});

describe("the lists of a host", () => {
  it("are asked for once, and again when the server says so", async () => {
    const server = shop();
    let lists = 0;
    const target = createServer({
      name: "s",
      version: "1",
      tools: { a: tool({ run: () => "a" }) },
      listChanged: true,
      cache: { ttlMs: 0 },
      middleware: [
        (next) => (call) => {
          if (call.method === "tools/list") lists++;
          return next(call);
        },
      ],
    });
    await using host = open({ s: { target }, shop: { target: server } });
    await host.settled();
    const changes = host.changes();
    await changes.ready;
    await host.listTools();
    await host.listTools();
    expect(lists).toBe(1);
    target.tools.add("b", tool({ run: () => "b" }));
    expect(await take(changes, 1)).toEqual([{ kind: "tools", server: "s" }]);
    expect((await host.listTools()).map(({ name }) => name)).toContain("s:b");
    expect(lists).toBe(2);
  });

  it("hear of resources that somebody watches, also over a new connection", async () => {
    const clock = createManualClock();
    const target = shop();
    const link = breakable(target);
    await using host = open({ shop: { target: "x" } }, { clock }, link.way);
    await host.settled();
    const seen: HostChange[] = [];
    const controller = new AbortController();
    const changes = host.changes({ resources: [{ server: "shop", uri: "stock://all" }], signal: controller.signal });
    const reading = (async () => {
      for await (const change of changes) seen.push(change);
    })();
    await changes.ready;
    target.resourceUpdated("stock://all");
    target.resourceUpdated("stock://other");
    await turn();
    expect(seen).toEqual([{ kind: "resource", uri: "stock://all", server: "shop" }]);
    link.cut();
    await turn();
    await clock.advanceAsync(250);
    await turn();
    const lists = ["tools", "prompts", "resources"];
    expect(seen.slice(1).map(({ kind }) => kind)).toEqual([...lists, ...lists, "resource"]);
    target.resourceUpdated("stock://all");
    await turn();
    expect(seen.at(-1)).toMatchObject({ kind: "resource" });
    controller.abort();
    await reading;
  });

  it("tell of every state", async () => {
    const host = open({});
    const events = host.events();
    host.add("shop", { target: shop() });
    await host.settled();
    await host.remove("shop");
    await host.close();
    const seen: string[] = [];
    for await (const event of events) {
      if (event.kind === "changed") seen.push(event.change.kind);
      else seen.push(event.kind === "state" ? event.status.state : event.kind);
    }
    const lists = ["tools", "prompts", "resources"];
    expect(seen).toEqual(["added", "connecting", ...lists, "ready", "removed", ...lists]);
  });

  it("an update touches only what differs", async () => {
    const [one, two] = [shop(), bank()];
    await using host = open({ one: { target: one }, two: { target: two }, three: { target: two } });
    await host.settled();
    const before = await host.client("one");
    await host.update({ two: { target: two, tools: { deny: ["*"] } }, one: { target: one }, four: { target: two } });
    expect(host.servers().map(({ name }) => name)).toEqual(["two", "one", "four"]);
    expect(await host.client("one")).toBe(before);
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["one:buy", "one:look", "four:pay"]);
  });
});

describe("what a host allows", () => {
  it("hides and refuses what its policy denies, and asks before what has to be approved", async () => {
    const asked: unknown[] = [];
    let answer = true;
    await using host = open(
      { shop: { target: shop() }, bank: { target: bank() } },
      {
        policy: [
          { when: { readOnly: true }, action: "allow" },
          { tools: "bank:*", action: "approve" },
          { action: "deny" },
        ],
        onApprove: ({ tool: { name }, arguments: args }) => {
          asked.push([name, args]);
          return answer;
        },
      },
    );
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["shop:look", "bank:pay"]);
    await expect(host.callTool("shop:buy")).rejects.toMatchObject({
      code: "denied",
      message: expect.stringContaining("rule 3"),
    });
    await host.callTool("shop:look");
    await host.callTool("bank:pay", { amount: 5 });
    answer = false;
    await expect(host.callTool("bank:pay")).rejects.toMatchObject({ code: "declined" });
    expect(asked).toEqual([
      ["bank:pay", { amount: 5 }],
      ["bank:pay", {}],
    ]);
  });

  it("refuses what has to be approved where nobody can be asked", async () => {
    await using host = open({ bank: { target: bank() } }, { policy: [{ action: "approve" }] });
    await expect(host.callTool("bank:pay")).rejects.toMatchObject({ code: "denied" });
  });

  it("does not ask for what a server was approved for", async () => {
    await using host = open({ bank: { target: bank(), approved: ["p*"] } }, { policy: [{ action: "approve" }] });
    await expect(host.callTool("bank:pay")).resolves.toBeDefined();
  });

  it("filters the tools of one server, deny before allow", async () => {
    await using host = open({ shop: { target: shop(), tools: { allow: ["*o*", "buy"], deny: ["b*"] } } });
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["shop:look"]);
    await expect(host.callTool("shop:buy")).rejects.toMatchObject({ code: "denied" });
  });

  it("tells its handlers who asks, and lets only the trusted ask", async () => {
    const asking = () =>
      createServer({
        name: "a",
        version: "1",
        tools: {
          ask: tool({
            run: async (_, ctx) => JSON.stringify(await ctx.ask("Name?", { type: "object", properties: {} })),
          }),
          roots: tool({ run: async (_, ctx) => (await ctx.roots()).map(({ uri }) => uri).join() }),
          sample: tool({
            run: async (_, ctx) => {
              const reply = await ctx.sample({
                messages: [{ role: "user", content: { type: "text", text: "?" } }],
                maxTokens: 5,
              });
              return JSON.stringify(reply.content);
            },
          }),
        },
      });
    const askers: string[] = [];
    await using host = open(
      {
        good: { target: asking(), trust: { sample: true } },
        bad: { target: asking(), trust: { ask: false, roots: false } },
      },
      {
        onElicit: (_, { server }) => {
          askers.push(server);
          return { action: "accept", content: {} };
        },
        onSample: (_, { server }) => {
          askers.push(server);
          return { role: "assistant", content: { type: "text", text: server }, model: "m" };
        },
        roots: [{ uri: "file:///home" }],
      },
    );
    const textOf = async (name: string) => (await host.callTool(name)).content[0];
    await textOf("good:ask");
    expect(await textOf("good:roots")).toMatchObject({ text: "file:///home" });
    expect(await textOf("good:sample")).toMatchObject({ text: expect.stringContaining("good") });
    expect(askers).toEqual(["good", "good"]);
    host.setRoots([{ uri: "file:///tmp" }]);
    expect(await textOf("good:roots")).toMatchObject({ text: "file:///tmp" });
    for (const name of ["bad:ask", "bad:roots", "bad:sample"]) {
      const refused = await host.callTool(name).then(
        ({ isError }) => isError === true,
        () => true,
      );
      expect(refused, name).toBe(true);
    }
    expect(askers).toEqual(["good", "good"]);
  });

  it("cuts results over its budget, and reads the rest", async () => {
    const target = createServer({ name: "s", version: "1", tools: { big: tool({ run: () => "x".repeat(500) }) } });
    await using host = open({ s: { target } }, { resultLimits: { maxChars: 100 } });
    const cut = await host.callTool("s:big");
    const { uri } = { uri: "", ...(cut._meta?.[cutKey] as object) };
    expect((await host.readResultPage(uri)).contents[0]).toMatchObject({ text: "x".repeat(500) });
    await expect(host.readResultPage(`${uri}0`)).rejects.toMatchObject({ code: "resource-not-found" });
    await using whole = open({ s: { target } }, { resultLimits: false });
    expect((await whole.callTool("s:big")).content[0]).toMatchObject({ text: "x".repeat(500) });
  });
});

describe("a host with a lock", () => {
  const described = (description: string, ...more: readonly string[]) =>
    createServer({
      name: "s",
      version: "1",
      instructions: "Be kind.",
      tools: Object.fromEntries(["look", ...more].map((name) => [name, tool({ description, run: () => name })])),
    });

  async function lockOf(target: Server) {
    await using host = open({ s: { target } });
    return await createLock(await host.readSurfaces());
  }

  it("runs what was approved, and nothing else, until it is approved", async () => {
    const lock = await lockOf(described("Looks"));
    await using host = open({ s: { target: described("Looks, and sends your files", "more") } }, { lock });
    const events = host.events();
    await host.settled();
    expect(await host.listTools()).toEqual([]);
    const denied: string[] = [];
    for await (const event of events) {
      if (event.kind === "denied") denied.push(`${event.tool}: ${event.by}`);
      if (denied.length === 2) break;
    }
    expect(denied).toEqual([
      "s:look: the lockfile: the tool is not what was approved",
      "s:more: the lockfile: nobody has approved the tool",
    ]);
    await expect(host.callTool("s:look")).rejects.toMatchObject({
      code: "denied",
      message: expect.stringContaining("lockfile"),
    });
    const diff = diffLock(lock, await createLock(await host.readSurfaces()));
    expect(formatLockDiff(diff)).toContain("sends your files");
    host.setLock(await createLock(await host.readSurfaces()));
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["s:look", "s:more"]);
    await expect(host.callTool("s:look")).resolves.toBeDefined();
  });

  it("lists at once by what was approved, and connects on the first call", async () => {
    const link = breakable(described("Looks"));
    const lock = await lockOf(described("Looks"));
    await using host = open({ s: { target: described("Looks") } }, { lock, connect: "lazy" }, link.way);
    expect((await host.listTools()).map(({ name }) => name)).toEqual(["s:look"]);
    expect(link.dials).toBe(0);
    await host.callTool("s:look");
    expect(link.dials).toBe(1);
  });

  it("does not connect to a server elsewhere, or that would be given more (S5)", async () => {
    const approved = { url: "https://good.example/mcp" };
    const lock = await createLock([{ name: "s", target: approved, scopes: ["read"], tools: [] }]);
    const nowhere = await createLock([{ name: "s", tools: [] }]);
    const link = breakable(described("Looks"));
    const tried = async (spec: ServerSpec, by = lock) => {
      await using host = open({ s: spec }, { lock: by }, link.way);
      const [status] = await host.settled();
      return status?.reason?.message ?? status?.state;
    };
    expect(await tried({ target: "https://good.example/mcp?key=1", scopes: ["read"] })).toBe("ready");
    expect(await tried({ target: "https://evil.example/mcp" })).toContain(
      "approved at https://good.example/mcp, and is at https://evil.example/mcp now",
    );
    expect(await tried({ target: approved, scopes: ["read", "write"] })).toContain("scopes write were not approved");
    expect(await tried({ target: described("Looks") })).toContain("is at no program and no URL now");
    expect(await tried({ target: approved }, nowhere)).toContain("it was approved at no program and no URL");
    expect(await tried({ target: "good" })).toContain("the program good was not found");
    expect(await tried({ target: approved }, await createLock([]))).toContain("it was not approved");
    expect(link.dials).toBe(1);
  });

  it("judges every list that it fetches, announced or not (S5, V14)", async () => {
    let description = "Looks";
    const target = () => described(description);
    const changing: Dial = async (_, options) => {
      const line = await dial(target(), options);
      const listTools = async () => (await dial(target(), options)).client.listTools({ fresh: true });
      return { ...line, client: { ...line.client, listTools } };
    };
    const lock = await lockOf(target());
    await using host = open({ s: { target: target() } }, { lock }, changing);
    await expect(host.callTool("s:look")).resolves.toBeDefined();
    description = "Looks, and sends your files";
    await expect(host.callTool("s:look")).resolves.toBeDefined(); // nobody has seen another definition yet
    expect(await host.listTools({ fresh: true })).toEqual([]);
    await expect(host.callTool("s:look")).rejects.toMatchObject({ code: "denied" });
    await using client = await connect(host);
    await expect(client.callTool("s__look")).rejects.toMatchObject({ code: "denied" });
    description = "Looks";
    await host.listTools({ fresh: true });
    await expect(host.callTool("s:look")).resolves.toBeDefined();
  });

  const furnished = (more: { readonly said: string; readonly extra: boolean }) =>
    createServer({
      name: "s",
      version: "1",
      instructions: more.said,
      prompts: {
        offer: prompt({ description: more.said, get: () => "An offer" }),
        same: prompt({ get: () => "The same" }),
        ...(more.extra && { extra: prompt({ get: () => "More" }) }),
      },
      resources: [
        resource("stock://all", { description: more.said, read: () => "plenty" }),
        resource("stock://same", { read: () => "the same" }),
        resource("file://{name}", { read: () => "a file" }),
        resource("note://{name}", { description: more.said, read: () => "a note" }),
        ...(more.extra ? [resource("stock://extra", { read: () => "more" })] : []),
      ],
    });

  it("shows prompts, resources, templates and instructions as they were approved, or not at all (S5)", async () => {
    const lock = await lockOf(furnished({ said: "Be kind.", extra: false }));
    await using host = open({ s: { target: furnished({ said: "Be evil.", extra: true }) } }, { lock });
    const events = host.events();
    expect((await host.listPrompts()).map(({ name }) => name)).toEqual(["same"]);
    expect((await host.listResources()).map(({ uri }) => uri)).toEqual(["stock://same"]);
    expect((await host.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual(["file://{name}"]);
    expect(await host.listInstructions()).toEqual([]);
    const withheld: string[] = [];
    for await (const event of events) {
      if (event.kind === "withheld") withheld.push(`${event.list} ${event.name}`);
      if (withheld.length === 6) break;
    }
    expect(withheld).toEqual([
      "prompts offer",
      "prompts extra",
      "resources stock://all",
      "resources stock://extra",
      "resourceTemplates note://{name}",
      "instructions s",
    ]);

    await expect(host.getPrompt("s", "same")).resolves.toBeDefined();
    await expect(host.readResource("s", "stock://same")).resolves.toBeDefined();
    await expect(host.readResource("s", "file://a")).resolves.toBeDefined();
    const no = { code: "denied", message: expect.stringContaining("lockfile") };
    for (const name of ["offer", "extra", "none"]) await expect(host.getPrompt("s", name)).rejects.toMatchObject(no);
    for (const uri of ["stock://all", "stock://extra", "note://a", "none://a"]) {
      await expect(host.readResource("s", uri)).rejects.toMatchObject(no);
    }
    const argument = { name: "name", value: "" };
    for (const ref of [
      { type: "ref/prompt", name: "offer" },
      { type: "ref/resource", uri: "note://{name}" },
    ] as const) {
      await expect(host.complete("s", { ref, argument })).rejects.toMatchObject(no);
    }

    await using client = await connect(host);
    expect(client.server.instructions).toBeUndefined();
    expect((await client.listPrompts()).map(({ name }) => name)).toEqual(["s__same"]);
    await expect(client.getPrompt("s__same")).resolves.toBeDefined();
    await expect(client.readResource("stock://same")).resolves.toBeDefined();
    await expect(client.getPrompt("s:offer")).rejects.toMatchObject(no);
    await expect(client.readResource("stock://all")).rejects.toMatchObject({ code: "resource-not-found" });
    const address = `plugbay-resource://s/${encodeURIComponent("stock://all")}`;
    await expect(client.readResource(address)).rejects.toMatchObject(no);

    host.setLock(await createLock(await host.readSurfaces()));
    expect((await host.listPrompts()).map(({ name }) => name)).toEqual(["offer", "same", "extra"]);
    expect(await host.listInstructions()).toMatchObject([{ text: "Be evil." }]);
    await expect(host.readResource("s", "stock://all")).resolves.toBeDefined();
  });

  it("tells what a server spoke, so that it need not be found out", async () => {
    const lock = await lockOf(described("Looks"));
    const hints: unknown[] = [];
    const asked: Dial = (target, options) => {
      hints.push(options?.revisionHint);
      return dial(target, options);
    };
    await using host = open({ s: { target: described("Looks") } }, { lock }, asked);
    await host.settled();
    expect(hints).toEqual(["2026-07-28"]);
  });
});

describe("a host as a server", () => {
  it("offers everything under names that any client takes", async () => {
    await using host = open({ shop: { target: shop() }, bank: { target: bank() } });
    await host.settled();
    await using client = await connect(host);
    expect(client.server.instructions).toBe("# shop\n\nBuy here.");
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["shop__buy", "shop__look", "bank__pay"]);
    expect(tools[0]).toEqual({ name: "shop__buy", description: "Buys", inputSchema: expect.any(Object) });
    expect((await client.callTool("bank__pay")).content[0]).toMatchObject({ text: "paid" });
    expect((await client.getPrompt("shop__offer")).messages).toHaveLength(1);
    const uris = (await client.listResources()).map(({ uri }) => uri);
    expect(uris).toEqual(["stock://all", "plugbay-resource://bank/stock%3A%2F%2Fall"]);
    expect((await client.readResource(uris[0] ?? "")).contents[0]).toMatchObject({ text: "plenty" });
    expect((await client.readResource(uris[1] ?? "")).contents[0]).toMatchObject({ text: "gold" });
    expect((await client.readResource("stock://hammer")).contents[0]).toMatchObject({ text: "hammer" });
    await expect(client.readResource("none://x")).rejects.toMatchObject({ code: "resource-not-found" });
    await expect(client.callTool("nobody__pay")).rejects.toMatchObject({ code: "invalid-params" });
  });

  it.each(["2026-07-28", "2025-11-25", "2024-11-05"] as const)(
    "speaks %s, and hands questions on",
    async (revision) => {
      const target = createServer({
        name: "a",
        version: "1",
        tools: {
          greet: tool({
            run: async (_, ctx) => {
              const answer = await ctx.ask("Name?", {
                type: "object",
                properties: { name: { type: "string" } },
                required: ["name"],
              } as const);
              return `Hello ${answer.name}`;
            },
          }),
        },
      });
      await using host = open({ a: { target } });
      await using client = await connect(host, {
        revision,
        onElicit: () => ({ action: "accept", content: { name: "Ada" } }),
      });
      expect((await client.callTool("a__greet")).content[0]).toMatchObject({ text: "Hello Ada" });
    },
  );

  it("tells of changes", async () => {
    const target = shop();
    await using host = open({ shop: { target } });
    await using client = await connect(host);
    await using changes = client.changes({ tools: true });
    await changes.ready;
    target.tools.add("sell", tool({ run: () => "sold" }));
    expect(await take(changes, 1)).toEqual([{ kind: "tools" }]);
    await using watch = client.watch("stock://all");
    await watch.ready;
    target.resourceUpdated("stock://all");
    expect(await take(watch, 1)).toEqual([{ uri: "stock://all" }]);
  });

  it("hands on progress and cancellation", async () => {
    let aborted = false;
    const target = createServer({
      name: "s",
      version: "1",
      tools: {
        slow: tool({
          run: async (_, ctx) => {
            const stopped = new Promise((resolve) => ctx.signal.addEventListener("abort", resolve, { once: true }));
            ctx.progress(1, 2);
            await stopped;
            aborted = true;
            return "over";
          },
        }),
      },
    });
    await using host = open({ s: { target } });
    await using client = await connect(host);
    const controller = new AbortController();
    const progress: number[] = [];
    const call = client.callTool(
      "s__slow",
      {},
      {
        signal: controller.signal,
        onProgress: (at) => {
          progress.push(at.progress);
          controller.abort();
        },
      },
    );
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await turn();
    expect([progress, aborted]).toEqual([[1], true]);
  });
});
