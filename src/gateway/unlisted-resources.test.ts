import { describe, expect, it } from "vitest";
import { type ConnectOptions, connect } from "../connect/connect.ts";
import { type Service, withMiddleware } from "../protocol/service.ts";
import { createServer, resource, tool } from "../server/index.ts";
import { type GatewayOptions, openGateway } from "./open-gateway.ts";

// Resources that no list has, and that servers have all the same.

interface Shelf {
  readonly service: Service;
  /** The URIs that it was asked for, in order. */
  readonly asked: string[];
}

/** A server that lists one resource of a scheme, and has one that it only links to. */
function shelf(name: string, scheme: string, hidden: string): Shelf {
  const asked: string[] = [];
  const content = [{ type: "resource_link", uri: hidden, name: "hidden" }] as const;
  const server = createServer({
    name,
    version: "1",
    tools: {
      link: tool({ run: () => ({ content: [...content] }) }),
      show: tool({ run: () => ({ content: [], _meta: { ui: { resourceUri: `ui://${name}/result` } } }) }),
    },
    resources: [resource(`${scheme}://listed-by-${name}`, { read: () => `listed by ${name}` })],
  });
  const service = withMiddleware(server, (next) => async (call) => {
    if (call.method !== "resources/read") return next(call);
    const { uri } = call.params;
    asked.push(uri);
    if (uri !== hidden && uri !== `ui://${name}/result`) return next(call);
    return { kind: "complete", result: { contents: [{ uri, text: `hidden by ${name}` }] } };
  });
  return { service, asked };
}

/** Three servers: two of the same scheme, and one of another scheme. */
async function openShelves(options: GatewayOptions = {}) {
  const shelves = {
    a: shelf("a", "note", "note://a/1"),
    b: shelf("b", "note", "note://b/1"),
    c: shelf("c", "card", "odd://c/1"),
  };
  const servers = Object.fromEntries(Object.entries(shelves).map(([name, { service }]) => [name, service]));
  const gateway = await openGateway(servers, { listTimeoutMs: 0, ...options });
  const as = (principal: string, view?: string, more: ConnectOptions = {}) =>
    connect(view === undefined ? gateway : gateway.views.get(view), {
      identity: { principal },
      cache: false,
      ...more,
    } as never);
  const asked = () => ({ a: shelves.a.asked, b: shelves.b.asked, c: shelves.c.asked });
  return { gateway, as, asked };
}

const hiddenBy = (name: string) => ({ contents: [{ text: `hidden by ${name}` }] });
const notFound = { code: "resource-not-found" };

describe.each(["2025-11-25", "2026-07-28"] as const)("a resource that no list has, for a client of %s", (revision) => {
  it("is that of the server in the view of one server", async () => {
    const { gateway, as, asked } = await openShelves();
    await using _ = gateway;
    await using client = await as("ann", "c", { revision });
    expect(await client.readResource("odd://c/1")).toMatchObject(hiddenBy("c"));
    await expect(client.readResource("note://a/1")).rejects.toMatchObject(notFound);
    expect(asked()).toEqual({ a: [], b: [], c: ["odd://c/1", "note://a/1"] });
  });

  it("is that of the server whose result has named it to the caller", async () => {
    const { gateway, as, asked } = await openShelves();
    await using _ = gateway;
    await using ann = await as("ann", undefined, { revision });
    await using eve = await as("eve", undefined, { revision });
    await expect(ann.readResource("odd://c/1")).rejects.toMatchObject(notFound);
    await ann.callTool("c__link");
    expect(await ann.readResource("odd://c/1")).toMatchObject(hiddenBy("c"));
    await expect(eve.readResource("odd://c/1")).rejects.toMatchObject(notFound);
    await ann.callTool("c__show");
    expect(await ann.readResource("ui://c/result")).toMatchObject(hiddenBy("c"));
    expect(asked()).toEqual({ a: [], b: [], c: ["odd://c/1", "ui://c/result"] });
  });

  it("is looked for at the servers that list URIs of its scheme, and at no other", async () => {
    const { gateway, as, asked } = await openShelves();
    await using _ = gateway;
    await using client = await as("ann", undefined, { revision });
    expect(await client.readResource("note://b/1")).toMatchObject(hiddenBy("b"));
    await expect(client.readResource("note://nobody")).rejects.toMatchObject(notFound);
    await expect(client.readResource("https://example.com/?key=1")).rejects.toMatchObject(notFound);
    const both = ["note://b/1", "note://nobody"];
    expect(asked()).toEqual({ a: both, b: both, c: [] });
  });

  it("is that of the server that has named it last, of those that have it", async () => {
    const { gateway, as, asked } = await openShelves();
    await using _ = gateway;
    await using client = await as("ann", undefined, { revision });
    await client.callTool("b__link");
    expect(await client.readResource("note://b/1")).toMatchObject(hiddenBy("b"));
    expect(asked()).toEqual({ a: [], b: ["note://b/1"], c: [] });
  });

  it("is that of nobody where the rules hide its server or its URI, which is not asked", async () => {
    const { gateway, as, asked } = await openShelves({
      rules: [
        { action: "deny", users: "eve", servers: "c" },
        { action: "deny", users: "eve", resources: "note://b/*" },
      ],
    });
    await using _ = gateway;
    await using eve = await as("eve", undefined, { revision });
    await using view = await as("eve", "c", { revision });
    await expect(view.readResource("odd://c/1")).rejects.toMatchObject(notFound);
    await eve.callTool("b__link");
    await expect(eve.readResource("note://b/1")).rejects.toMatchObject(notFound);
    await expect(eve.readResource("card://nobody")).rejects.toMatchObject(notFound);
    expect(asked()).toEqual({ a: [], b: [], c: [] });
    await using ann = await as("ann", undefined, { revision });
    expect(await ann.readResource("note://b/1")).toMatchObject(hiddenBy("b"));
  });

  it("is that of nobody where the view does not have it", async () => {
    const views = { notes: { servers: ["a", "b"], resources: { deny: ["note://b/*"] } } };
    const { gateway, as, asked } = await openShelves({ views });
    await using _ = gateway;
    await using client = await as("ann", "notes", { revision });
    await expect(client.readResource("note://b/1")).rejects.toMatchObject(notFound);
    await expect(client.readResource("odd://c/1")).rejects.toMatchObject(notFound);
    expect(asked()).toEqual({ a: [], b: [], c: [] });
  });
});
