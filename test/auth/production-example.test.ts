import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { context } from "@opentelemetry/api";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { find } from "../../scripts/system-programs.mjs";
import { oauth } from "../../src/auth/node/client.ts";
import type { Client } from "../../src/client/client.ts";
import { connect } from "../../src/connect/connect.ts";
import { otel } from "../../src/otel/index.ts";
import type { Revision } from "../../src/protocol/revision.ts";
import { openV2 } from "../e2e/support/official-v2.ts";
import { patiently } from "../support/patience.ts";
import { recordSecret } from "../support/secrets.ts";
import { createTraces } from "../support/traces.ts";
import { type Production, startProduction } from "./support/production.ts";
import { createRawClient } from "./support/raw-client.ts";
import { createUser } from "./support/user-agent.ts";

// The example of a server in production, as one command: nginx, two processes, a store, two issuers.

const redirectUri = "http://127.0.0.1:4999/callback";
const machineSecret = "secret-of-a-machine-0123456789";
/** Two servers, an identity provider, a proxy and a store start: that takes a while where others work beside them. */
const limitMs = 180_000;

describe.skipIf(find("nginx") === undefined || find("redis") === undefined)("examples/production", () => {
  let world: Production;
  beforeAll(async () => {
    recordSecret("secret of a client", machineSecret);
    world = await startProduction({ MACHINE_SECRET: machineSecret });
  }, limitMs);
  afterAll(() => world?.[Symbol.asyncDispose](), limitMs);

  const signIn = (login: string, revision: Revision, more: object = {}): Promise<Client> => {
    const auth = oauth({ authorize: createUser({ login }).authorize, redirectUri, clientName: `Client of ${login}` });
    return connect(world.url, { auth, revision, ...more });
  };
  const tokenOf = async (login: string): Promise<string> => {
    const { access_token } = await (await createRawClient(world.origin)).tokens(createUser({ login }));
    return access_token;
  };
  const machineToken = async (): Promise<string> => {
    const grant = { grant_type: "client_credentials", scope: "stock:write", resource: world.url };
    const body = new URLSearchParams({ ...grant, client_id: "restocker", client_secret: machineSecret });
    const { access_token } = await (await fetch(world.tokenUrl, { method: "POST", body })).json();
    recordSecret("access token", access_token);
    return access_token;
  };
  const namesOf = async (client: Client): Promise<readonly string[]> =>
    (await client.listTools()).map(({ name }) => name).toSorted();
  const textOf = async (client: Client, tool: string, args: object = {}): Promise<string> => {
    const { content } = await client.callTool(tool, args);
    return content[0]?.type === "text" ? content[0].text : "";
  };
  const everybody = ["addToCart", "order", "price", "whoami"];

  it("signs users in by their provider, and shows each of them their own tools", async () => {
    await using ann = await signIn("ann", "2026-07-28");
    await using bob = await signIn("bob", "2025-11-25");
    expect(await textOf(ann, "whoami")).toMatch(/^ann at (one|two)$/);
    expect(await namesOf(ann)).toEqual(everybody);
    expect(await namesOf(bob)).toEqual([...everybody, "takings"].toSorted());
    await expect(ann.callTool("takings")).rejects.toMatchObject({ message: expect.stringContaining("unknown tool") });
    expect(await textOf(bob, "takings")).toBe("1,234.00");
  });

  it("takes tokens of another issuer from machines, and has them see what is for machines", async () => {
    const headers = { authorization: `Bearer ${await machineToken()}` };
    await using machine = await connect(world.url, { headers });
    expect(await namesOf(machine)).toEqual([...everybody, "restock"].toSorted());
    expect(await textOf(machine, "restock", { sku: "tea" })).toBe("tea is in stock");
    await expect(machine.callTool("addToCart", { sku: "tea" })).rejects.toThrow("sign in again with: cart:write");
    const others = { authorization: headers.authorization.replace(/.{4}$/, "AAAA") };
    await expect(connect(world.url, { headers: others })).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("keeps what belongs to a user for both processes, and finishes a task of theirs", async () => {
    await using ann = await signIn("ann", "2026-07-28");
    const processes = new Set<string>();
    for (let count = 0; count < 4; count++) processes.add(await textOf(ann, "whoami"));
    expect(processes.size).toBe(2);
    for (const sku of ["tea", "rice", "salt"]) await ann.callTool("addToCart", { sku });
    expect(await textOf(ann, "addToCart", { sku: "oil" })).toBe("4 in the cart: tea, rice, salt, oil");
    const task = await ann.tasks.start("order");
    expect(await task.result()).toMatchObject({ content: [{ text: "4 sent" }] });
    expect(await textOf(ann, "addToCart", { sku: "tea" })).toBe("1 in the cart: tea");
  });

  it("says of both processes that they are well, and what they did, but not to everybody", async () => {
    for (const { watched } of world.servers) {
      expect((await fetch(`${watched}/healthz`)).status).toBe(200);
      expect((await fetch(`${watched}/readyz`)).status).toBe(200);
      const metrics = await (await fetch(`${watched}/metrics`)).text();
      expect(metrics).toMatch(
        /^mcp_server_operation_duration_seconds_count\{method="tools\/call",name="whoami".*\} \d+$/m,
      );
    }
    for (const path of ["/metrics", "/healthz", "/readyz"]) {
      expect((await fetch(`${world.origin}${path}`)).status).toBe(404);
    }
  });

  it("prints who called what, and one tree of spans for a call, below that of the client", async () => {
    const { tracer, spans } = createTraces();
    try {
      await using ann = await signIn("ann", "2026-07-28", { telemetry: otel({ tracer }) });
      await ann.callTool("price", { sku: "tea" });
    } finally {
      context.disable();
    }
    const sent = spans()
      .find(({ name }) => name === "tools/call price")
      ?.spanContext();
    const printedBelow = (parent: unknown) => world.printed.find(({ data }) => data.parentId === parent);
    const served = await printedBelow(sent?.spanId);
    const inner = await printedBelow(served.data.spanId);
    expect(served.data).toMatchObject({ name: "tools/call price", span: "server", traceId: sent?.traceId });
    expect(inner.data).toMatchObject({ name: "ask supplier", span: "internal", traceId: sent?.traceId });
    const event = await world.printed.find(({ data }) => data.kind === "call" && data.name === "price");
    expect(event.data).toMatchObject({ outcome: "complete", principal: expect.stringMatching(/#ann$/) });
  });

  it("loses nothing and does nothing twice when a process is told to end under load, and sessions go on at the other", async () => {
    const [one, two] = world.servers;
    const requestInit = { headers: { authorization: `Bearer ${await tokenOf("cleo")}` } };
    const official = async (mode: "legacy" | { readonly pin: string }) =>
      (await openV2(new StreamableHTTPClientTransport(new URL(world.url), { requestInit }), mode)).client;
    const ours = await Promise.all([signIn("dora", "2026-07-28"), signIn("emil", "2025-11-25")]);
    const theirs = await Promise.all([official({ pin: "2026-07-28" }), official("legacy")]);
    const clients = [...ours, ...theirs].map((client) => async (name: string, sku: string) => {
      const { content } = await ("tools" in client
        ? client.callTool(name, { sku })
        : client.callTool({ name, arguments: { sku } }));
      return (content as { readonly text?: string }[])[0]?.text ?? "";
    });
    const users = ["dora", "emil", "cleo", "cleo"];
    /** What each user has put into their cart, as far as they were told. */
    const carts = new Map<string, string[]>(users.map((user) => [user, []]));

    // Tasks that are under way in either process when one ends.
    const packers = await Promise.all([signIn("fay", "2026-07-28"), signIn("gus", "2026-07-28")]);
    for (const packer of packers) for (const sku of "abcdefghij") await packer.callTool("addToCart", { sku });

    const [modern, session] = ours;
    const watch = session.watch("stock://tea");
    await watch.ready;
    const handshakes = () => world.printed.items.filter(({ data }) => data.name === "initialize").length;
    const before = handshakes();
    expect(before).toBeGreaterThan(0);
    let [next, answered] = [0, 0];
    const wrong: unknown[] = [];
    const count = 800;
    /** Calls one after the other until there are enough. */
    const caller = async (at: number): Promise<void> => {
      const who = at % clients.length;
      const isWriter = at >= 3 * clients.length && at < 5 * clients.length;
      while (next < count) {
        const sku = `a${next++}`;
        const text = await clients[who]?.(isWriter ? "addToCart" : "price", sku).catch((error: unknown) => error);
        answered++;
        if (isWriter && `${text}`.endsWith(sku)) carts.get(users[who] ?? "")?.push(sku);
        else if (text !== `${sku} is ${sku.length}.00`) wrong.push(text);
      }
    };
    const all = Promise.all(Array.from({ length: 32 }, (_, at) => caller(at)));
    await vi.waitFor(() => expect(answered).toBeGreaterThan(count / 4), patiently);
    const orders = await Promise.all(packers.map((packer) => packer.tasks.start("order")));
    process.kill(one.pid, "SIGTERM");
    // Who signs in meanwhile gets in.
    const arriving = signIn("hal", "2026-07-28");
    arriving.catch(() => {});
    await world.printed.find(({ text }) => text === "one has ended: 0");
    expect(answered).toBeLessThan(count);
    await all;
    expect(wrong).toEqual([]);
    expect(answered).toBe(count);
    await using newcomer = await arriving;
    expect(await textOf(newcomer, "whoami")).toMatch(/^hal at /);
    for (const order of orders) expect(await order.result()).toMatchObject({ content: [{ text: "10 sent" }] });
    for (const [at, user] of users.slice(0, 3).entries()) {
      const put = carts.get(user) ?? [];
      expect(put.length).toBeGreaterThan(0);
      const cart = (await clients[at]?.("addToCart", "last"))?.replace(/^\d+ in the cart: /, "").split(", ");
      expect(cart?.toSorted()).toEqual([...put, "last"].toSorted());
    }

    // Sessions are the same as before, and hear what they have subscribed to. Without a session one subscribes again.
    for (const client of ours) expect(await textOf(client, "whoami")).toMatch(/ at two$/);
    expect(handshakes()).toBe(before);
    const again = modern.watch("stock://tea");
    await again.ready;
    await using machine = await connect(world.url, { headers: { authorization: `Bearer ${await machineToken()}` } });
    const heard = [watch, again].map((each) => each[Symbol.asyncIterator]().next());
    await machine.callTool("restock", { sku: "tea" });
    const news = { done: false, value: { uri: "stock://tea" } };
    expect(await Promise.all(heard)).toEqual([news, news]);
    expect((await fetch(`${two.watched}/readyz`)).status).toBe(200);
    await Promise.all([...ours, ...theirs, ...packers].map((client) => client.close()));
  });

  it("ends as a whole when it is told to", async () => {
    expect(await world.stop()).toEqual([0, null]);
    expect(world.printed.items.map(({ text }) => text)).toContain("two has ended: 0");
    // nginx tells of the process that ended before, and nobody of anything else.
    const lines = world
      .stderr()
      .split("\n")
      .filter((line) => !/^nginx \| .*(?:refused|temporarily disabled)/.test(line));
    expect(lines).toEqual([""]);
  });
});
