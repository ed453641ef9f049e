import { expect, it } from "vitest";
import { github, oauthProxy } from "../../src/auth/node/proxy.ts";
import { apiKey } from "../../src/auth/server/api-key.ts";
import type { ServerEvent } from "../../src/protocol/server-event.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { toFetchHandler } from "../../src/transport/http/fetch-handler.ts";
import { type ServeHttpOptions, serveHttp } from "../../src/transport/node/serve-http.ts";
import { proxyKey } from "../auth/support/proxied-server.ts";
import { modernCall } from "../support/fake-endpoint.ts";
import { createHttpService } from "../support/http-service.ts";
import { quietPort } from "../support/quiet-port.ts";
import { createRawClient } from "../support/raw-http.ts";

const auth = apiKey({ verify: (key) => (key === "good" ? { principal: "ann" } : undefined) });
const key = { "x-api-key": "good" };
const secret = "planted-secret";

async function serve(options: ServeHttpOptions = {}) {
  const events: ServerEvent[] = [];
  const server = createServer({
    name: "shop",
    version: "1.0.0",
    onEvent: (event) => events.push(event),
    tools: { hello: tool({ run: () => "Hello" }), admin: tool({ scopes: ["admin"], run: () => "x" }) },
  });
  const serving = await serveHttp(server, { port: 0, auth, ...options });
  const client = createRawClient(serving.port);
  const call = (name: string, headers: Readonly<Record<string, string>> = key) => {
    const { body, headers: own } = modernCall(1, name);
    return client.request({ body, headers: { ...own, ...headers } });
  };
  return { events, serving, client, call };
}

const seen = (events: readonly ServerEvent[]) =>
  events.map(({ kind, code, ...rest }) => [kind, code, "status" in rest ? rest.status : undefined]);

it("onEvent hears of every refusal of the endpoint, and of calls only once", async () => {
  const { events, serving, client, call } = await serve({ limits: { maxMessageBytes: 1_000 } });
  await call("hello");
  await call("hello", { "x-api-key": secret });
  await call("hello", { ...key, host: "evil.example" });
  await call("hello", { ...key, origin: "https://evil.example" });
  await client.request({ headers: key, body: "x".repeat(2_000) });
  await call("admin");
  await serving.close();
  expect(seen(events)).toEqual([
    ["call", undefined, undefined],
    ["refused", "unauthorized", 401],
    ["refused", "forbidden", 403],
    ["refused", "forbidden", 403],
    ["refused", "limit-reached", 413],
    ["refused", "forbidden", undefined],
  ]);
  expect(events[1]).toMatchObject({ address: "127.0.0.1" });
  expect(JSON.stringify(events)).not.toContain(secret);
});

it("onEvent hears of budgets, and whose share was used up", async () => {
  const events: ServerEvent[] = [];
  const { server, holding, release } = createHttpService();
  const budgets = { principal: { maxRunningCalls: 1, maxQueuedCalls: 1 } };
  const onEvent = (event: ServerEvent): number => events.push(event);
  await using serving = await serveHttp(server, { port: 0, auth, budgets, onEvent });
  const client = createRawClient(serving.port);
  const { body, headers } = modernCall(1, "hold");
  const post = () => client.request({ body, headers: { ...headers, ...key } });
  const first = post();
  await holding(1);
  const others = [post(), post()];
  // One of them waits, so the other one is answered.
  expect((await Promise.race(others)).status).toBe(429);
  release();
  await Promise.all([first, ...others]);
  expect(events[0]).toMatchObject({ kind: "refused", code: "limit-reached", status: 429, principal: "ann" });
});

it("onEvent hears of every refusal of the routes of an authorization server, without what was sent", async () => {
  const events: ServerEvent[] = [];
  const port = await quietPort();
  const server = createServer({ name: "shop", version: "1", onEvent: (event) => events.push(event) });
  const auth = oauthProxy({
    provider: github({ clientId: "i", clientSecret: "s".repeat(20) }),
    resource: `http://127.0.0.1:${port}/mcp`,
    keys: [proxyKey()],
    limits: { maxRegistrationsPerAddress: 1 },
  });
  await using _serving = await serveHttp(server, { port, auth });
  const send = async (path: string, body: string | URLSearchParams): Promise<[number, Record<string, string>]> => {
    const headers = typeof body === "string" ? { "content-type": "application/json" } : {};
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body, headers });
    return [response.status, path === "/register" ? await response.json() : {}];
  };
  const form = (fields: Record<string, string>): URLSearchParams => new URLSearchParams(fields);
  const metadata = JSON.stringify({ redirect_uris: ["http://127.0.0.1/callback"], client_name: secret });

  const [, client] = await send("/register", metadata);
  expect(events).toEqual([]);
  await send("/register", metadata);
  await send("/consent", form({ request: secret, decision: "allow" }));
  await send("/token", form({ grant_type: "refresh_token", client_id: secret, refresh_token: secret }));
  const known = { client_id: client.client_id ?? "" };
  await send("/token", form({ grant_type: "authorization_code", code: secret, ...known }));
  await send("/token", form({ grant_type: "refresh_token", refresh_token: secret, ...known }));
  // What is wrong with a request is no refusal.
  await send("/token", form({ grant_type: secret }));
  expect(seen(events)).toEqual([
    ["refused", "limit-reached", 429],
    ["refused", "forbidden", 403],
    ["refused", "unauthorized", 401],
    ["refused", "unauthorized", 400],
    ["refused", "unauthorized", 400],
  ]);
  for (const event of events) expect(event).toMatchObject({ address: "127.0.0.1" });
  expect(JSON.stringify(events)).not.toContain(secret);
});

it("onEvent of a handler takes the place of the server's, and one that throws refuses nothing else", async () => {
  const mine: ServerEvent[] = [];
  const { server } = createHttpService();
  const handle = toFetchHandler(server, {
    auth,
    onEvent(event) {
      mine.push(event);
      throw new Error("the log is full");
    },
  });
  const { body, headers } = modernCall(1, "echo");
  const all = { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers };
  const request = new Request("http://localhost/mcp", { method: "POST", headers: all, body: JSON.stringify(body) });
  expect((await handle(request)).status).toBe(401);
  expect(seen(mine)).toEqual([["refused", "unauthorized", 401]]);
});
