import { afterEach, describe, expect, it, vi } from "vitest";
import { apiKey } from "../../src/auth/server/api-key.ts";
import { connect } from "../../src/connect/connect.ts";
import { createServer } from "../../src/server/index.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { type HttpServeHandle, type ServeHttpOptions, serveHttp } from "../../src/transport/node/serve-http.ts";
import { modernCall } from "../support/fake-endpoint.ts";
import { createHttpService } from "../support/http-service.ts";
import { eventually } from "../support/patience.ts";
import { createRawClient } from "../support/raw-http.ts";

const keyed = apiKey({ verify: (key) => (key === "k" ? { principal: "me" } : undefined) });

const open: HttpServeHandle[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((serving) => serving.close()));
});

async function serve(options: ServeHttpOptions) {
  const service = createHttpService();
  const serving = await serveHttp(service.server, { port: 0, ...options });
  open.push(serving);
  const origin = new URL(serving.url).origin;
  const read = (path: string, init?: RequestInit): Promise<Response> => fetch(`${origin}${path}`, init);
  return { ...service, serving, origin, read, client: createRawClient(serving.port) };
}

const json = async (answer: Response | Promise<Response>): Promise<readonly [number, unknown]> => {
  const response = await answer;
  return [response.status, await response.json()];
};

describe("health of serveHttp", () => {
  it("answers on both paths, to anybody and by any host name", async () => {
    const { client, read } = await serve({
      health: true,
      auth: keyed,
    });
    expect(await json(read("/healthz"))).toEqual([200, { status: "ok" }]);
    expect(await json(read("/readyz"))).toEqual([200, { status: "ok", checks: {} }]);
    const probe = await client.request({ method: "GET", path: "/healthz", headers: { host: "10.0.0.5:8080" } });
    expect([probe.status, probe.headers["cache-control"]]).toEqual([200, "no-store"]);
    expect((await read("/healthz", { method: "HEAD" })).status).toBe(200);
    expect((await read("/healthz", { method: "POST", body: "{}" })).status).toBe(405);
    expect((await read("/mcp", { method: "POST" })).status).not.toBe(200);
  });

  it("asks the store of the server, and checks", async () => {
    const store = memoryStore();
    const shop = createServer({ name: "shop", version: "1.0.0", store });
    let isWell = true;
    const health = { readyPath: "/ready", checks: { database: () => isWell } };
    await using serving = await serveHttp(shop, { port: 0, health, onWarning: () => {} });
    const read = () => json(fetch(new URL("/ready", serving.url)));
    expect(await read()).toEqual([200, { status: "ok", checks: { store: "ok", database: "ok" } }]);
    isWell = false;
    expect(await read()).toEqual([503, { status: "failed", checks: { store: "ok", database: "failed" } }]);
  });

  it("says 503 while open calls are answered", async () => {
    const { serving, client, holding, release } = await serve({ health: true, clock: createManualClock() });
    const { body, headers } = modernCall(1, "hold");
    const answer = client.request({ body, headers });
    await holding(1);
    const probe = await client.socket();
    const closed = serving.close();
    probe.socket.write(
      "GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\nGET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    );
    const text = await probe.until((text) => text.split('{"status":"closing"}').length === 3);
    expect(text.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 503", "HTTP/1.1 503"]);
    release();
    expect((await answer).status).toBe(200);
    await closed;
  });
});

describe("routes of serveHttp", () => {
  it("serve other paths with handlers of the Fetch standard, the longest path first", async () => {
    const routes = {
      "/*": () => new Response("home"),
      "/admin/*": () => new Response("admin"),
      "/admin/users": () => new Response("users"),
    };
    const { read, serving } = await serve({ routes, health: true });
    const texts = ["/", "/other?x=1", "/admin/", "/admin/x", "/admin/users", "/admin/users?x", "/admin", "/healthz"];
    expect(await Promise.all(texts.map(async (path) => (await read(path)).text()))).toEqual([
      ...["home", "home", "admin", "admin", "users", "users", "home"],
      '{"status":"ok"}',
    ]);
    await using client = await connect(serving.url);
    expect(await client.listTools()).not.toEqual([]);
  });

  it("get the request as it is, and give what they want", async () => {
    const seen: unknown[] = [];
    const echo = async (request: Request): Promise<Response> => {
      seen.push(request.method, request.url, request.headers.get("x-one"), await request.text());
      const headers = new Headers({ "x-two": "2" });
      headers.append("set-cookie", "a=1");
      headers.append("set-cookie", "b=2");
      return new Response("made", { status: 201, statusText: "Made", headers });
    };
    const { read, origin } = await serve({ routes: { "/echo": echo } });
    const response = await read("/echo?q=1", { method: "PUT", headers: { "x-one": "1" }, body: "héllo" });
    expect(seen).toEqual(["PUT", `${origin}/echo?q=1`, "1", "héllo"]);
    expect([response.status, response.statusText, response.headers.get("x-two")]).toEqual([201, "Made", "2"]);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await response.text()).toBe("made");
    expect(await (await read("/echo", { method: "HEAD" })).text()).toBe("");
    expect((await read("/nothing")).status).toBe(404);
  });

  it("stream both ways: nothing is read or made that nobody has taken", async () => {
    let made = 0;
    let cancelled: unknown;
    const endless = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => {
            made++;
            controller.enqueue(new Uint8Array(65_536));
          },
          cancel: (reason) => {
            cancelled = reason ?? "cancelled";
          },
        }),
      );
    let signal: AbortSignal | undefined;
    const routes = {
      "/endless": (request: Request) => {
        signal = request.signal;
        return endless();
      },
      "/echo": (request: Request) => new Response(request.body),
    };
    const { client, read } = await serve({ routes });
    const stream = await client.stream({ method: "GET", path: "/endless" });
    stream.pause();
    let before = -1;
    await eventually(() => {
      const now = made;
      const isStill = now === before;
      before = now;
      expect(isStill).toBe(true);
    });
    expect(made * 65_536).toBeLessThan(16_000_000);
    stream.destroy();
    await eventually(() => expect([cancelled, signal?.aborted]).toEqual(["cancelled", true]));
    const text = "x".repeat(3_000_000);
    expect(await (await read("/echo", { method: "POST", body: text })).text()).toBe(text);
  });

  it("leave the connection usable when the body of a request is not wanted", async () => {
    const { client } = await serve({ routes: { "/drop": () => new Response("no") } });
    const { socket, until } = await client.socket();
    const body = "x".repeat(500_000);
    socket.write(`POST /drop HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    socket.write("GET /drop HTTP/1.1\r\nhost: localhost\r\n\r\n");
    const text = await until((text) => text.split("HTTP/1.1 200").length === 3);
    expect(text).not.toContain("HTTP/1.1 4");
    socket.destroy();
  });

  it("answer 500 when they throw or give nothing, and tell only this process why", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const routes = {
      "/throws": () => {
        throw new Error("secret");
      },
      "/nothing": () => undefined as unknown as Response,
    };
    const { read } = await serve({ routes });
    expect(await json(read("/throws"))).toEqual([500, { error: "internal error" }]);
    expect(await json(read("/nothing"))).toEqual([500, { error: "internal error" }]);
    expect(error.mock.calls.map(([text]) => text)).toEqual([
      "plugbay: the route for /throws threw:",
      "plugbay: the route for /nothing threw:",
    ]);
    error.mockRestore();
  });

  it("are not reached by another name, nor in ways that the Fetch standard does not know", async () => {
    const { client } = await serve({ routes: { "/*": () => new Response("home") } });
    const evil = await client.request({ method: "GET", path: "/x", headers: { host: "evil.example" } });
    expect([evil.status, evil.body]).toEqual([403, expect.stringContaining("evil.example")]);
    expect((await client.request({ method: "TRACE", path: "/x" })).status).toBe(400);
    const double = await client.request({ method: "GET", path: "//evil.example/x" });
    expect([double.status, double.body]).toEqual([200, "home"]);
  });

  it("are refused where they are no paths, or paths of others", async () => {
    const route = () => new Response("x");
    const refused = async (options: ServeHttpOptions) => expect(serve(options)).rejects;
    const bad = { code: "invalid-definition" };
    await (await refused({ routes: { admin: route } })).toMatchObject(bad);
    await (await refused({ routes: { "/mcp": route } })).toMatchObject(bad);
    await (await refused({ routes: { "/healthz": route }, health: true })).toMatchObject(bad);
    await (await refused({ routes: { "/a*": route } })).toMatchObject(bad);
    await (await refused({ health: { livePath: "/mcp" } })).toMatchObject(bad);
  });

  it("are answered when the server closes, and take nothing new", async () => {
    let answer = (_: Response): void => {};
    let begun = false;
    const routes = {
      "/slow": () => {
        begun = true;
        return new Promise<Response>((resolve) => {
          answer = resolve;
        });
      },
    };
    const { read, serving, client } = await serve({ routes, clock: createManualClock() });
    const slow = read("/slow");
    await eventually(() => expect(begun).toBe(true));
    const late = await client.socket();
    const closed = serving.close();
    late.socket.write("GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n");
    expect(await late.until((text) => text.includes("closing"))).toContain("HTTP/1.1 503");
    late.socket.destroy();
    answer(new Response("done"));
    expect(await (await slow).text()).toBe("done");
    await closed;
  });
});

describe("onClose of serveHttp", () => {
  it("runs once, when open calls are answered and no connection is left", async () => {
    const log: unknown[] = [];
    const onClose = async () => {
      log.push("onClose", await fetch(serving.url).catch(() => "nobody listens"));
    };
    const { serving, client, holding, release } = await serve({ onClose, clock: createManualClock() });
    const { body, headers } = modernCall(1, "hold");
    const answer = client.request({ body, headers });
    await holding(1);
    const closed = [serving.close(), serving.close(), serving.closed].map((over) =>
      over.then(() => log.push("closed")),
    );
    expect(log).toEqual([]);
    release();
    await Promise.all(closed);
    expect((await answer).status).toBe(200);
    expect(log).toEqual(["onClose", "nobody listens", "closed", "closed", "closed"]);
  });

  it("may throw: the server is closed all the same, and somebody hears of it", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const { serving } = await serve({ onClose: () => Promise.reject(new Error("busy")) });
    await serving.close();
    expect(error.mock.calls).toEqual([["plugbay: onClose threw:", new Error("busy")]]);
    error.mockRestore();
  });
});
