import { createServer as createSite, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connect } from "../../src/connect/connect.ts";
import { openHost } from "../../src/host/index.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { LazyAbort } from "../../src/std/lazy-abort.ts";
import { toNodeHandler } from "../../src/transport/node/http.ts";
import { nodeSend } from "../../src/transport/node/http-send.ts";

// A program that connects to URLs of others must not be led to this machine or its network.

const shop = createServer({ name: "shop", version: "1.0.0", tools: { read: tool({ run: () => "read" }) } });
const refusal = { code: "connection-closed", data: { reason: "address-not-allowed" } };

let site: Server;
let heard: string[] = [];
let answer: "shop" | "401" | { readonly location: string } = "shop";
beforeEach(async () => {
  heard = [];
  answer = "shop";
  const handle = toNodeHandler(shop);
  site = createSite((request, response) => {
    heard.push(`${request.headers.host} ${request.url}`);
    if (answer === "shop") return handle(request, response);
    if (answer === "401") return response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    return response.writeHead(307, answer).end();
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await new Promise<void>((resolve) => {
    site.close(() => resolve());
    site.closeAllConnections();
  });
});

const port = () => (site.address() as AddressInfo).port;
const url = (host = "127.0.0.1") => `http://${host}:${port()}/mcp`;

describe("connect with allowPrivateNetwork: false", () => {
  it.each(["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254", "db.internal"])(
    "asks nothing of %s (C124)",
    async (host) => {
      await expect(connect(url(host), { allowPrivateNetwork: false })).rejects.toMatchObject(refusal);
      await expect(connect(url(host), { allowPrivateNetwork: false, fetch })).rejects.toMatchObject(refusal);
      await expect(connect(url(host), { allowPrivateNetwork: ["other.example"] })).rejects.toMatchObject(refusal);
      expect(heard).toEqual([]);
    },
  );

  it("asks hosts that are named, and the default asks all (C124)", async () => {
    for (const allowPrivateNetwork of [["127.0.0.1"], true] as const) {
      await using client = await connect(url(), { allowPrivateNetwork });
      expect(await client.callTool("read")).toMatchObject({ content: [{ text: "read" }] });
    }
  });

  it("does not follow a redirect there (C124)", async () => {
    answer = { location: url("localhost") };
    await expect(connect(url(), { allowPrivateNetwork: ["127.0.0.1"] })).rejects.toThrow();
    expect(heard.every((line) => line.startsWith("127.0.0.1:"))).toBe(true);
  });

  it("judges the addresses that a name resolves to, and shares no connection with those who do not (C124, V8)", async () => {
    const request = { method: "GET", url: new URL(url("localhost")), headers: {} } as const;
    const open = await (await nodeSend("http:"))(request, new LazyAbort());
    await open.text(1_000);
    const before = heard.length;
    const allows = vi.fn(() => false);
    const send = await nodeSend("http:", { key: "none", check() {}, allows });
    await expect(send(request, new LazyAbort())).rejects.toMatchObject(refusal);
    expect(allows).toHaveBeenCalledWith("127.0.0.1", "localhost");
    expect(heard).toHaveLength(before);
  });

  it("is there for the servers of a host, together and one by one (C124)", async () => {
    await using host = await openHost(
      { mcpServers: { local: { url: url() } } },
      { connectOptions: { allowPrivateNetwork: false } },
    );
    expect(await host.settled()).toMatchObject([{ name: "local", reason: refusal }]);
    await using other = await openHost({
      named: { target: url(), connectOptions: { allowPrivateNetwork: ["127.0.0.1"] } },
      local: { target: url(), connectOptions: { allowPrivateNetwork: false } },
    });
    const [named, local] = await other.settled();
    expect([named?.state, local?.state]).toEqual(["ready", "down"]);
  });
});

describe("a server that answers 401", () => {
  it("has an error that says how to sign in (X16)", async () => {
    answer = "401";
    await expect(connect(url())).rejects.toMatchObject({
      code: "unauthorized",
      message: expect.stringContaining("connect(url, { auth: oauth() })"),
      data: { status: 401 },
    });
  });
});
