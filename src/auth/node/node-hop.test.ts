import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createSafeFetch } from "../safe-fetch.ts";
import { nodeHop } from "./node-hop.ts";

const heard: string[] = [];
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    heard.push(`${request.method} ${request.url} ${body}`);
    if (request.url === "/none") return response.writeHead(204).end();
    response.writeHead(200, { "content-type": "application/json", "set-cookie": ["a=1", "b=2"] });
    return response.end(JSON.stringify({ encoding: request.headers["accept-encoding"] }));
  });
});

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())));

const at = (path: string, host = "localhost"): string =>
  `http://${host}:${(server.address() as AddressInfo).port}${path}`;

describe("a request on Node", () => {
  it("goes out as it is, over a connection of its own", async () => {
    const get = createSafeFetch({ hop: nodeHop });
    expect(await (await get(at("/a"))).json()).toEqual({ encoding: "identity" });
    expect((await get(at("/b", "127.0.0.1"), { method: "POST", body: "é" })).headers.get("set-cookie")).toBe(
      "a=1, b=2",
    );
    expect((await get(at("/none"))).status).toBe(204);
    expect(heard).toEqual(["GET /a ", "POST /b é", "GET /none "]);
  });

  it("goes to an address that was checked, or nowhere", async () => {
    const before = heard.length;
    const allows = vi.fn(() => false);
    const url = new URL(at("/secret"));
    const { signal } = new AbortController();
    await expect(nodeHop({ url, method: "GET", headers: {}, signal, allows })).rejects.toMatchObject({
      code: "invalid-response",
      data: { reason: "address-not-allowed" },
    });
    expect(allows).toHaveBeenCalledWith("127.0.0.1");
    expect(heard).toHaveLength(before);
  });

  it("fails when nobody is there", async () => {
    const get = createSafeFetch({ hop: nodeHop });
    await expect(get("http://127.0.0.1:1/x")).rejects.toMatchObject({
      code: "connection-closed",
      message: "no answer from http://127.0.0.1:1: ECONNREFUSED",
    });
  });
});
