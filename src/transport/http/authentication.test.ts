import { describe, expect, it, vi } from "vitest";
import { callOf, modernCall, modernRequest } from "../../../test/support/fake-endpoint.ts";
import { createFakeReply, fakeHead } from "../../../test/support/fake-reply.ts";
import { hello } from "../../../test/support/served.ts";
import { messagesIn } from "../../../test/support/sse-text.ts";
import { anonymous, anyOf } from "../../auth/server/any-of.ts";
import { basic } from "../../auth/server/basic.ts";
import { jwt } from "../../auth/server/jwt.ts";
import { bearer as bearerAuth } from "../../auth/server/tokens.ts";
import type { Authenticator } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import type { NeededAuth } from "../../protocol/peer.ts";
import { createServer } from "../../server/server.ts";
import { tool } from "../../server/tool.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { createEndpoint } from "./endpoint.ts";
import { toFetchHandler } from "./fetch-handler.ts";
import type { HttpOptions } from "./options.ts";

const people = new Map([
  ["ann", { principal: "ann", scopes: ["read"], claims: { team: "tea" } }],
  ["bob", { principal: "bob", scopes: ["read", "write", "admin"] }],
]);

/** Takes names for tokens. */
const byName: Authenticator = Object.assign(
  ((http) => {
    const token = http.header("authorization")?.slice("Bearer ".length);
    if (token === undefined) return { ok: false, status: 401 };
    const auth = people.get(token);
    if (auth !== undefined) return { ok: true, auth };
    return { ok: false, status: 401, error: "invalid_token", description: "nobody of this name" };
  }) satisfies Authenticator,
  { metadata: { authorization_servers: ["https://login.example"] }, requiredScopes: ["read"] },
);

const server = () =>
  createServer({
    name: "guarded",
    version: "1",
    stateKeys: ["3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E"],
    onError: () => {},
    tools: {
      who: tool({
        run: (_, { auth, client: peer, http }) =>
          JSON.stringify([auth, auth?.principal === peer.auth?.principal, http?.header("Authorization") ?? null]),
      }),
      write: tool({ scopes: ["write", "read"], run: () => "written" }),
      delete: tool({
        run: () => {
          throw new McpError("forbidden", "not yours", { data: { scopes: ["admin"] } });
        },
      }),
      refuse: tool({
        run: () => {
          throw new McpError("forbidden", "not today");
        },
      }),
    },
  });

type Headers = Readonly<Record<string, string>>;

function protect(options: HttpOptions = {}) {
  const handle = toFetchHandler(server(), { path: "/mcp", allowedHosts: ["shop.example"], auth: byName, ...options });
  const send = (method: string, headers: Headers, body?: unknown, path = "/mcp") =>
    handle(
      new Request(`https://shop.example${path}`, {
        method,
        headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
  const call = (name: string, token?: string) => {
    const { body, headers } = modernCall(1, name);
    return send("POST", { ...headers, ...bearer(token) }, body);
  };
  const open = async (token: string) => {
    const response = await send("POST", bearer(token), {
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: hello("2025-11-25"),
    });
    const session = { "mcp-session-id": response.headers.get("mcp-session-id") ?? "" };
    await send("POST", { ...session, ...bearer(token) }, { jsonrpc: "2.0", method: "notifications/initialized" });
    return session;
  };
  return { handle, send, call, open };
}

const bearer = (token: string | undefined): Headers =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };
const place = 'resource_metadata="https://shop.example/.well-known/oauth-protected-resource/mcp"';

describe("a request to a protected server", () => {
  it.each(["POST", "GET", "DELETE"])("by %s without credentials is refused, with a way to get some", async (method) => {
    const { send } = protect();
    const response = await send(
      method,
      { "mcp-session-id": "unknown" },
      method === "POST" ? callOf(1, "who") : undefined,
    );
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe(`Bearer ${place}, scope="read"`);
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      error: { code: -32600, message: "authentication is needed" },
    });
  });

  it("with bad ones is told what is wrong, and not what they were", async () => {
    const response = await protect().call("who", "secret-token-of-eve");
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe(
      `Bearer ${place}, scope="read", error="invalid_token", error_description="nobody of this name"`,
    );
    expect(await response.text()).not.toContain("secret-token");
  });

  it("that is refused is not read", async () => {
    const { handle } = protect();
    const { body, headers } = modernCall(1, "who");
    const request = new Request("https://shop.example/mcp", {
      method: "POST",
      headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    expect((await handle(request)).status).toBe(401);
    expect(request.bodyUsed).toBe(false);
  });

  it("is judged by host and origin first, and pages that may can read the refusal", async () => {
    const ask = vi.fn(byName);
    const { send } = protect({ auth: ask, allowedOrigins: ["https://app.example"] });
    expect((await send("POST", { host: "evil.example" }, {})).status).toBe(403);
    expect((await send("POST", { origin: "https://evil.example" }, {})).status).toBe(403);
    expect((await send("OPTIONS", { origin: "https://app.example" })).status).toBe(204);
    expect(ask).not.toHaveBeenCalled();
    const response = await send("POST", { origin: "https://app.example" }, {});
    expect(response.status).toBe(401);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(response.headers.get("access-control-expose-headers")).toContain("www-authenticate");
  });

  it("shows handlers who sent it, and no credentials (V11)", async () => {
    const { call, send, open } = protect();
    const wanted = JSON.stringify([people.get("ann"), true, null]);
    expect(await (await call("who", "ann")).json()).toMatchObject({ result: { content: [{ text: wanted }] } });
    const session = await open("ann");
    const response = await send("POST", { ...session, ...bearer("ann") }, callOf(7, "who"));
    expect(await response.json()).toMatchObject({ id: 7, result: { content: [{ text: wanted }] } });
  });

  it("is of who sent it, not of who sent the one before it", async () => {
    const { send, open } = protect();
    const session = await open("ann");
    expect((await send("POST", session, callOf(1, "who"))).status).toBe(401);
    expect((await send("GET", session)).status).toBe(401);
    expect((await send("DELETE", session)).status).toBe(401);
  });

  it.each<[string, HttpOptions]>([
    ["in memory", {}],
    ["in a store", { store: memoryStore() }],
  ])("in a session %s of somebody else finds none", async (_, options) => {
    const { send, open } = protect(options);
    const session = await open("ann");
    for (const method of ["POST", "GET", "DELETE"]) {
      const body = method === "POST" ? callOf(1, "who") : undefined;
      expect((await send(method, { ...session, ...bearer("bob") }, body)).status).toBe(404);
    }
    expect((await send("POST", { ...session, ...bearer("ann") }, callOf(2, "who"))).status).toBe(200);
  });

  it("for the metadata needs no credentials", async () => {
    const { send } = protect();
    const response = await send(
      "GET",
      { origin: "https://anywhere.example" },
      undefined,
      "/.well-known/oauth-protected-resource/mcp",
    );
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(await response.json()).toEqual({
      resource: "https://shop.example/mcp",
      authorization_servers: ["https://login.example"],
    });
  });
});

describe("an authenticator", () => {
  it("that cannot tell makes the client come again, and says why without repeating credentials", async () => {
    const onWarning = vi.fn();
    const token = "secret-token";
    const broken: readonly Authenticator[] = [
      () => Promise.reject(new Error(`cannot look up ${token}`)),
      () => {
        throw new McpError("http-error", "https://login.example answered 500");
      },
      () => undefined as never,
      () => ({ ok: "yes" }) as never,
      () => ({ ok: false, status: 200 }) as never,
      () => ({ ok: true, auth: {} }) as never,
      () => ({ ok: true, auth: { principal: "" } }),
    ];
    for (const auth of broken) {
      const response = await protect({ auth, onWarning }).call("who", token);
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(response.headers.get("www-authenticate")).toBeNull();
      expect(await response.text()).not.toContain(token);
    }
    expect(onWarning.mock.calls.map(([warning]) => warning)).toMatchObject([
      { kind: "authenticator-failed", message: "cannot tell who sends a request: Error" },
      { message: "cannot tell who sends a request: https://login.example answered 500" },
      { message: "cannot tell who sends a request: TypeError" },
      ...Array.from({ length: 4 }, () => ({
        message: "cannot tell who sends a request: an authenticator must say who it is, or refuse",
      })),
    ]);
  });

  it.each([
    ["principal", 429],
    ["process", 503],
  ])("that is at a limit of the %s is answered with %i, Retry-After and the figures", async (scope, status) => {
    const onWarning = vi.fn();
    const data = { reason: "limit-reached", limit: "maxInFlight", max: 64, scope, retryAfterMs: 1_500 };
    const auth = () => Promise.reject(new McpError("limit-reached", "about secret-token", { data }));
    const response = await protect({ auth, onWarning }).call("who", "secret-token");
    expect([response.status, response.headers.get("retry-after")]).toEqual([status, "2"]);
    const { error } = (await response.json()) as { error: { message: string; data: unknown } };
    expect(error.message).toBe("the sender cannot be identified right now: maxInFlight is 64; retry later");
    expect(error.data).toEqual(data);
    expect(onWarning).toHaveBeenCalledTimes(1);
  });

  it('needs to know its resource where allowedHosts is "any" (H13)', () => {
    const tokens = bearerAuth(() => undefined, { metadata: { authorization_servers: ["https://login.example"] } });
    const open = (auth: Authenticator<NeededAuth>) => () => createEndpoint(server(), { auth, allowedHosts: "any" });
    const refused = expect.objectContaining({
      code: "invalid-definition",
      message: expect.stringMatching(/^allowedHosts: "any" .*: give resource in auth/),
    });
    expect(open(byName)).toThrow(refused);
    expect(open(tokens)).toThrow(refused);
    expect(open(jwt({ issuer: "https://login.example", audience: "shop" }))).toThrow(refused);
    expect(open(anyOf(tokens, anonymous()))).toThrow(refused);
    expect(open(bearerAuth(() => undefined, { dpop: true }))).toThrow(refused);
    const resource = "https://shop.example/mcp";
    for (const auth of [
      jwt({ issuer: "https://login.example", audience: resource }),
      jwt({ issuer: "https://login.example", audience: "shop", resource }),
      bearerAuth(() => undefined, { dpop: true, resource }),
      bearerAuth(() => undefined),
      basic({ users: {} }),
    ])
      expect(open(auth)).not.toThrow();
    expect(() => createEndpoint(server(), { auth: byName })).not.toThrow();
  });

  it("that nobody listens to is heard on stderr, once for the same reason", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const { call } = protect({ auth: () => Promise.reject(new RangeError("secret-token")) });
    await call("who", "x");
    await call("who", "x");
    expect(error.mock.calls).toEqual([["plugbay: cannot tell who sends a request: RangeError"]]);
    error.mockRestore();
  });

  it("that refuses may tell whoever runs the server more than the client", async () => {
    const onWarning = vi.fn();
    const refused = {
      ok: false,
      status: 401,
      error: "invalid_token",
      warning: "jwt: claims do not fit: /tenant",
    } as const;
    const response = await protect({ auth: () => refused, onWarning }).call("who", "ann");
    expect(response.status).toBe(401);
    expect(`${response.headers.get("www-authenticate")} ${await response.text()}`).not.toContain("tenant");
    expect(onWarning.mock.calls).toEqual([[{ kind: "claims-refused", message: "jwt: claims do not fit: /tenant" }]]);
  });

  it("may be a plain function, and add headers", async () => {
    const headers = { "dpop-nonce": "n-1" };
    const { call, send } = protect({
      auth: () => ({ ok: false, status: 401, error: "use_dpop_nonce", scheme: "DPoP", headers }),
    });
    const response = await call("who", "ann");
    expect(response.headers.get("www-authenticate")).toBe('Bearer, DPoP error="use_dpop_nonce"');
    expect(response.headers.get("dpop-nonce")).toBe("n-1");
    expect((await send("GET", {}, undefined, "/.well-known/oauth-protected-resource")).status).toBe(404);
  });

  it("must be one", () => {
    expect(() => createEndpoint(server(), { auth: {} as never })).toThrow(/auth must be/);
  });

  it("protects HTTP+SSE: who opened a stream may post to it, and nobody else", async () => {
    const { send } = protect({ sse: true });
    expect((await send("GET", {}, undefined, "/sse")).status).toBe(401);
    const accept = { accept: "text/event-stream" };
    const reader = (await send("GET", { ...bearer("ann"), ...accept }, undefined, "/sse")).body
      ?.pipeThrough(new TextDecoderStream())
      .getReader();
    let text = "";
    const until = async (part: string): Promise<void> => {
      while (!text.includes(part)) text += (await reader?.read())?.value ?? "";
    };
    await until("sessionId=");
    const place = /data: (\S+)/.exec(text)?.[1] ?? "";
    const post = async (name: string, body: object) =>
      (await send("POST", { ...bearer(name), "content-type": "application/json", accept: "*/*" }, body, place)).status;
    expect(await post("bob", { jsonrpc: "2.0", id: 0, method: "initialize", params: hello("2024-11-05") })).toBe(404);
    expect(await post("ann", { jsonrpc: "2.0", id: 0, method: "initialize", params: hello("2024-11-05") })).toBe(202);
    expect(await post("ann", { jsonrpc: "2.0", method: "notifications/initialized" })).toBe(202);
    expect(await post("ann", callOf(1, "who"))).toBe(202);
    await until('"id":1');
    expect(text).toContain('\\"principal\\":\\"ann\\"');
    await reader?.cancel();
  });

  it("is not passed by a skin that forgets to ask", () => {
    const endpoint = createEndpoint(server(), { auth: byName });
    const reply = createFakeReply();
    endpoint.handle(fakeHead(bearer("ann")), "{}", reply);
    expect(reply.sent?.status).toBe(401);
  });
});

describe("a tool that takes scopes", () => {
  const refused = `Bearer ${place}, scope="read write", error="insufficient_scope", error_description="tool write needs scopes that the caller was not granted; sign in again with: write read"`;

  it("can be called with them", async () => {
    expect(await (await protect().call("write", "bob")).json()).toMatchObject({
      result: { content: [{ text: "written" }] },
    });
  });

  it.each<[string, HttpOptions]>([
    ["plainly", {}],
    ["by streams", { respondWith: "sse" }],
  ])("is refused by HTTP without them, where calls are answered %s", async (_, options) => {
    const response = await protect(options).call("write", "ann");
    expect(response.status).toBe(403);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("www-authenticate")).toBe(refused);
    expect(await response.json()).toMatchObject({ id: 1, error: { data: { scopes: ["write", "read"] } } });
  });

  it.each<[string, HttpOptions]>([
    ["in memory", {}],
    ["always streaming", { respondWith: "sse" }],
    ["in a store", { store: memoryStore() }],
    ["that are none", { sessions: false }],
  ])("is refused in sessions %s, too", async (_, options) => {
    const { send, open } = protect(options);
    const session = options.sessions === false ? {} : await open("ann");
    const response = await send("POST", { ...session, ...bearer("ann") }, callOf(5, "write"));
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toBe(refused);
    expect(await response.json()).toMatchObject({ id: 5, error: { data: { scopes: ["write", "read"] } } });
    const fine = await send("POST", { ...session, ...bearer("ann") }, callOf(6, "who"));
    expect(fine.status).toBe(200);
  });

  it("is listed for everybody", async () => {
    const { send } = protect();
    const { body, headers } = modernRequest(1, "tools/list");
    const response = await send("POST", { ...headers, ...bearer("ann") }, body);
    expect(JSON.stringify(await response.json())).toContain('"write"');
  });

  it("asks those who have not said who they are to do so", async () => {
    const auth: Authenticator = Object.assign(
      (http: Parameters<Authenticator>[0]) => (http.header("authorization") ? byName(http) : { ok: true as const }),
      {
        metadata: byName.metadata,
      },
    );
    const { call } = protect({ auth });
    expect((await call("who")).status).toBe(200);
    const response = await call("write");
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe(`Bearer ${place}, scope="write read"`);
  });

  it("may find out later what it takes", async () => {
    const { call } = protect();
    const response = await call("delete", "ann");
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toContain('scope="read admin", error="insufficient_scope"');
    const never = await call("refuse", "ann");
    expect([never.status, never.headers.get("www-authenticate")]).toEqual([403, null]);
  });

  it("cannot be called where nobody says who calls", async () => {
    const handle = toFetchHandler(server(), { allowedHosts: ["shop.example"] });
    const { body, headers } = modernCall(1, "write");
    const response = await handle(
      new Request("https://shop.example/mcp", {
        method: "POST",
        headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    );
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ error: { code: -32603, data: { reason: "forbidden" } } });
  });

  it("is part of a batch like any other", async () => {
    const { send, open: _ } = protect();
    const opened = await send("POST", bearer("ann"), {
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: hello("2025-03-26"),
    });
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", ...bearer("ann") };
    await send("POST", session, { jsonrpc: "2.0", method: "notifications/initialized" });
    const response = await send("POST", session, [callOf(1, "write"), callOf(2, "who")]);
    expect(response.status).toBe(200);
    const text = await response.text();
    const answers = text.startsWith("[") ? JSON.parse(text) : messagesIn(text);
    expect(JSON.stringify(answers)).toContain("needs scopes that the caller was not granted");
  });
});
