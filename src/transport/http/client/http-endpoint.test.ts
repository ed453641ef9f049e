import { describe, expect, it, vi } from "vitest";
import { createFakeHttp } from "../../../../test/support/fake-http.ts";
import type { Authorizer } from "../../../protocol/authorizer.ts";
import { McpError } from "../../../protocol/errors.ts";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import { createEndpoint, type HeaderSource } from "./http-endpoint.ts";

function endpoint(headers?: HeaderSource) {
  const http = createFakeHttp();
  const { send } = createEndpoint({ url: new URL("https://x.example/mcp?key=secret"), send: http.send, headers });
  const go = (method: "GET" | "POST" = "POST") => {
    const answer = send(
      { method, headers: { accept: "a" }, ...(method === "POST" && { body: "{}" }) },
      new LazyAbort(),
    );
    answer.catch(() => {});
    return answer;
  };
  return { http, go };
}

describe("headers of the user", () => {
  it("go with every request, but not in place of those of the protocol", async () => {
    const { http, go } = endpoint({
      Authorization: "Bearer x",
      ACCEPT: "b",
      "Mcp-Session-Id": "mine",
      "mcp-param-a": "1",
      Host: "y",
    });
    void go();
    expect((await http.expect("POST")).headers).toEqual({ authorization: "Bearer x", accept: "a" });
  });

  it("are asked for before each request", async () => {
    let count = 0;
    const { http, go } = endpoint(async () => ({ authorization: `${++count}` }));
    void go();
    void go();
    expect((await http.expect("POST")).headers.authorization).toBe("1");
    expect((await http.expect("POST")).headers.authorization).toBe("2");
  });

  it("fail the request when they cannot be found out", async () => {
    const { http, go } = endpoint(() => {
      throw new Error("no token");
    });
    await expect(go()).rejects.toMatchObject({ code: "internal", cause: new Error("no token") });
    expect(http.requests).toEqual([]);
  });

  it.each([
    [{ "a b": "x" }, '"a b" cannot be the name of a header'],
    [{ a: "secret\r\nb: c" }, "header a has a value that cannot be sent"],
    [{ a: 7 as never }, "header a has a value that cannot be sent"],
    [{ a: "日本" }, "header a has a value that cannot be sent"],
  ])("are refused when they are none: %j", async (headers, message) => {
    expect(() => endpoint(headers)).toThrow(expect.objectContaining({ code: "invalid-params", message }));
    await expect(endpoint(() => headers).go()).rejects.toMatchObject({ code: "invalid-params", message });
  });
});

describe("a redirect", () => {
  const hop = (http: ReturnType<typeof createFakeHttp>, method: string) => http.expect(method);

  it.each([301, 302, 303, 307, 308])("of a GET is followed within the origin: %i", async (status) => {
    const { http, go } = endpoint({ authorization: "x" });
    const answer = go("GET");
    (await hop(http, "GET")).reply(status, { location: "/other" });
    const second = await hop(http, "GET");
    expect(second.url.href).toBe("https://x.example/other");
    expect(second.headers).toEqual({ accept: "a", authorization: "x" });
    second.reply(204);
    expect((await answer).status).toBe(204);
  });

  it.each([307, 308])("of a POST is followed with its body: %i", async (status) => {
    const { http, go } = endpoint();
    const answer = go();
    (await hop(http, "POST")).reply(status, { location: "https://x.example:443/other" });
    const second = await hop(http, "POST");
    expect(second.body).toBe("{}");
    second.reply(204);
    expect((await answer).status).toBe(204);
  });

  it.each([301, 302, 303])("of a POST is refused when it would lose the body: %i", async (status) => {
    const { http, go } = endpoint();
    const answer = go();
    (await hop(http, "POST")).reply(status, { location: "/other" });
    await expect(answer).rejects.toMatchObject({ code: "http-error", data: { status } });
    expect(http.requests).toHaveLength(1);
  });

  it.each(["http://x.example/", "https://x.example:8443/", "https://evil.example/", "//evil.example/", "file:///x"])(
    "to %s is refused, and nothing is sent there (V38)",
    async (location) => {
      const { http, go } = endpoint({ authorization: "x" });
      const answer = go();
      (await hop(http, "POST")).reply(307, { location });
      await expect(answer).rejects.toMatchObject({
        code: "http-error",
        message: expect.stringContaining("another origin"),
      });
      expect(http.requests).toHaveLength(1);
    },
  );

  it.each([{}, { location: "http://[" }])("to nowhere is refused: %j", async (headers) => {
    const { http, go } = endpoint();
    const answer = go();
    (await hop(http, "POST")).reply(307, headers as never);
    await expect(answer).rejects.toMatchObject({ message: expect.stringContaining("to nowhere") });
  });

  it("is followed five times, not more", async () => {
    const { http, go } = endpoint();
    const answer = go();
    for (let i = 0; i < 6; i++) (await hop(http, "POST")).reply(307, { location: `/${i}` });
    await expect(answer).rejects.toMatchObject({ message: expect.stringContaining("more than 5 times") });
    expect(http.requests).toHaveLength(6);
  });
});

describe("a refusal that repeats what was sent", () => {
  it("shows it neither in headers nor in its text (B9)", async () => {
    const { http, go } = endpoint({ authorization: "Bearer token-4711" });
    const answer = go();
    const headers = { "www-authenticate": 'Bearer error_description="token-4711"' };
    (await http.expect("POST")).reply(401, headers, "no to Bearer token-4711, secret");
    const response = await answer;
    expect(response.header("www-authenticate")).toBe('Bearer error_description="***"');
    expect(await response.text(1_000)).toBe("no to ***, ***");
  });
});

describe("a refusal", () => {
  it("tells where it comes from without query, user and what was sent (B9)", async () => {
    const http = createFakeHttp();
    const url = new URL("https://ann:pw@x.example/mcp/token-4711?key=hidden#part");
    const { send } = createEndpoint({ url, send: http.send, headers: { authorization: "Bearer token-4711" } });
    const answer = send({ method: "POST", headers: {}, body: "{}" }, new LazyAbort());
    (await http.expect("POST")).reply(503);
    expect((await answer).url).toBe("https://x.example/mcp/***");
  });

  it("of a redirect has the URL that was asked first", async () => {
    const { http, go } = endpoint();
    const answer = go();
    (await http.expect("POST")).reply(307, { location: "/secret" });
    (await http.expect("POST")).reply(302, { location: "/other" });
    await expect(answer).rejects.toMatchObject({ data: { status: 302, url: "https://x.example/mcp" } });
  });
});

describe("a server that does not answer", () => {
  it("is named by its origin only", async () => {
    const { http, go } = endpoint({ authorization: "secret" });
    const answer = go();
    (await http.expect("POST")).fail(Object.assign(new TypeError("fetch failed"), { cause: coded("ECONNREFUSED") }));
    const error = await answer.catch((cause: Error) => cause);
    expect(error).toMatchObject({
      code: "connection-closed",
      message: "no answer from https://x.example: the connection was refused; is the server running?",
    });
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  it("is not even asked when the request was given up before", async () => {
    const http = createFakeHttp();
    const { send } = createEndpoint({ url: new URL("http://x.example"), send: http.send });
    const abort = new LazyAbort();
    abort.abort("no");
    await expect(send({ method: "GET", headers: {} }, abort)).rejects.toMatchObject({ code: "cancelled" });
    expect(http.requests).toEqual([]);
  });
});

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}

describe("an authorizer", () => {
  const refuse401 = { "www-authenticate": "Bearer" };

  function authorized(auth: Partial<Authorizer>, headers?: HeaderSource) {
    const http = createFakeHttp();
    const url = new URL("https://x.example/mcp");
    const all = { headers: async () => ({ authorization: "Bearer a" }), refused: async () => false, ...auth };
    const endpoint = createEndpoint({ url, send: http.send, headers, auth: all });
    const go = (method: "POST" | "GET" | "DELETE" = "POST", abort = new LazyAbort(), at = endpoint) => {
      const answer = at.send({ method, headers: {} }, abort);
      answer.catch(() => {});
      return answer;
    };
    return { http, endpoint, go };
  }

  it("C135: is not asked when the headers of the user say who it is", async () => {
    const headers = vi.fn();
    const { http, go } = authorized({ headers }, { Authorization: "Basic mine" });
    void go();
    expect((await http.expect("POST")).headers).toEqual({ authorization: "Basic mine" });
    expect(headers).not.toHaveBeenCalled();
  });

  it("has its headers sent beside those of the user", async () => {
    const { http, go } = authorized({}, () => ({ "x-a": "1" }));
    void go();
    expect((await http.expect("POST")).headers).toEqual({ authorization: "Bearer a", "x-a": "1" });
  });

  it.each([401, 403])("is told of %i, and has it sent again while it is worth it", async (status) => {
    const requests: unknown[] = [];
    let count = 0;
    const { http, go } = authorized({
      headers: async (request) => {
        requests.push(request);
        return { authorization: `Bearer ${++count}` };
      },
      refused: async (request, answer) => {
        requests.push(request);
        return answer.header("www-authenticate") === "Bearer" && count < 2;
      },
    });
    const answer = go();
    (await http.expect("POST")).reply(status, refuse401);
    const second = await http.expect("POST");
    expect(second.headers.authorization).toBe("Bearer 2");
    second.reply(status, refuse401);
    expect((await answer).status).toBe(status);
    expect(new Set(requests).size).toBe(1);
  });

  it("is not told of other answers, nor bothered at the end", async () => {
    const refused = vi.fn(async () => true);
    const { http, go } = authorized({ refused });
    const [first, last] = [go(), go("DELETE")];
    (await http.expect("POST")).reply(404);
    (await http.expect("DELETE")).reply(401, refuse401);
    expect([(await first).status, (await last).status]).toEqual([404, 401]);
    expect(refused).not.toHaveBeenCalled();
  });

  it("fails the request when it fails", async () => {
    const { http, go } = authorized({ refused: () => Promise.reject(new McpError("unauthorized", "no")) });
    const answer = go();
    (await http.expect("POST")).reply(401, refuse401);
    await expect(answer).rejects.toMatchObject({ code: "unauthorized" });
    const other = authorized({ headers: () => Promise.reject(new McpError("unauthorized", "no")) });
    await expect(other.go()).rejects.toMatchObject({ code: "unauthorized" });
    expect(other.http.requests).toEqual([]);
  });

  it("is not waited for by who gives up", async () => {
    const abort = new LazyAbort();
    const { http, go } = authorized({ refused: () => new Promise(() => {}) });
    const answer = go("POST", abort);
    (await http.expect("POST")).reply(401, refuse401);
    await Promise.resolve();
    abort.abort("cancelled");
    await expect(answer).rejects.toMatchObject({ code: "cancelled" });
  });

  it("does not have it sent for ever", async () => {
    const { http, go } = authorized({ refused: async () => true });
    const answer = go();
    for (let count = 0; count < 6; count++) (await http.expect("POST")).reply(401, refuse401);
    expect((await answer).status).toBe(401);
  });

  it("knows which server another URL is of", async () => {
    const headers = vi.fn(async () => ({}));
    const { http, endpoint, go } = authorized({ headers });
    void go("POST", new LazyAbort(), endpoint.at(new URL("https://x.example/messages")));
    await http.expect("POST");
    expect(headers).toHaveBeenCalledWith({
      method: "POST",
      url: new URL("https://x.example/messages"),
      server: new URL("https://x.example/mcp"),
    });
  });
});

describe("bearer tokens are refused for http: URLs of other machines", () => {
  const http = createFakeHttp();
  const token = { authorization: "Bearer x" };
  const authorizer: Authorizer = { headers: async () => token, refused: async () => false };
  const at = (url: string, options: Partial<Parameters<typeof createEndpoint>[0]> = {}) =>
    createEndpoint({ url: new URL(url), send: http.send, ...options });
  const refusal = {
    code: "invalid-params",
    message: expect.stringMatching(
      /^(the header (authorization|x-api-key|cookie)|the access token of auth) is not sent to http:\/\/mcp\.example: .*use https:, or set allowInsecureHttp: true/,
    ),
  };
  const remote = "http://mcp.example/mcp?key=hidden";

  it.each([
    ["headers", { headers: token }],
    ["headers with another credential", { headers: { "X-API-Key": "x" } }],
  ])("as %s, before anything is sent (H15)", (_, options) => {
    expect(() => at(remote, options)).toThrow(expect.objectContaining(refusal));
  });

  it.each([
    ["a function", { headers: () => token }, {}],
    ["headers of one call", {}, { own: { Cookie: "x" } }],
  ])("as %s, before that request is sent (H15)", async (_, options, own) => {
    const { length } = http.requests;
    const sent = at(remote, options).send({ method: "GET", headers: {}, ...own }, new LazyAbort());
    await expect(sent).rejects.toMatchObject(refusal);
    expect(http.requests).toHaveLength(length);
  });

  it("as the token of an authorizer, and not for a server that wants none (H15)", async () => {
    const { length } = http.requests;
    const go = (auth: Authorizer) => at(remote, { auth }).send({ method: "GET", headers: {} }, new LazyAbort());
    await expect(go(authorizer)).rejects.toMatchObject(refusal);
    expect(http.requests).toHaveLength(length);
    const tokenless: Authorizer = { headers: async () => ({}), refused: () => expect.unreachable() };
    const free = go(tokenless);
    (await http.expect("GET")).reply(204);
    expect((await free).status).toBe(204);
    const unwelcome = go(tokenless);
    unwelcome.catch(() => {});
    (await http.expect("GET")).reply(401);
    await expect(unwelcome).rejects.toMatchObject(refusal);
  });

  it.each([
    "https://mcp.example/mcp",
    "http://localhost:3000/mcp",
    "http://mcp.localhost/mcp",
    "http://127.0.0.1/mcp",
    "http://[::1]:3000/mcp",
  ])("but not for %s", (url) => {
    expect(() => at(url, { headers: token, auth: authorizer })).not.toThrow();
  });

  it("but not with allowInsecureHttp, nor other headers", async () => {
    expect(() => at(remote, { headers: token, auth: authorizer, allowInsecureHttp: true })).not.toThrow();
    expect(() => at(remote, { headers: { "x-tenant": "a" } })).not.toThrow();
  });
});
