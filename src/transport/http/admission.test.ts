import { describe, expect, it } from "vitest";
import { type AdmissionOptions, corsHeaders, createAdmission, plainHeaders } from "./admission.ts";
import { loopbackHosts } from "./allowed-hosts.ts";
import type { HttpAnswer, HttpHead } from "./http-message.ts";

type Headers = Readonly<Record<string, string | undefined>>;

const page = "https://app.example";
const options: AdmissionOptions = {
  path: "/mcp",
  hosts: [...loopbackHosts, "mcp.example:8443"],
  origins: [page],
  maxMessageBytes: 1000,
  get: true,
};
const { admit } = createAdmission(options);
const modern = createAdmission({ ...options, get: false });

/** A request that is fine, but for what is given. */
function request(method: string, headers: Headers = {}, url = "/mcp"): HttpHead {
  const all: Headers = {
    host: "localhost:3000",
    accept: "application/json, text/event-stream",
    ...(method === "POST" && { "content-type": "application/json", "content-length": "1000" }),
    ...headers,
  };
  return { method, url, header: (name) => all[name] };
}

function answerTo(head: HttpHead, admission = { admit }): HttpAnswer {
  const admitted = admission.admit(head);
  if (admitted.ok) throw new Error("the request was admitted");
  return admitted.answer;
}

function messageOf({ body }: HttpAnswer): string {
  const { error, ...rest } = JSON.parse(body);
  expect(rest).toEqual({ jsonrpc: "2.0" });
  expect(error.code).toBe(-32600);
  return error.message;
}

const methods = ["POST", "GET", "DELETE", "OPTIONS", "PUT", "HEAD"];

describe("what is admitted", () => {
  it.each<readonly [string, HttpHead]>([
    ["POST", request("POST")],
    ["POST of unknown length", request("POST", { "content-length": undefined })],
    ["POST without accept", request("POST", { accept: undefined })],
    ["POST that accepts anything", request("POST", { accept: "*/*" })],
    ["POST with a charset", request("POST", { "content-type": "application/json; charset=utf-8" })],
    ["POST that is not encoded", request("POST", { "content-encoding": "Identity" })],
    ["POST by another name", request("POST", { host: "MCP.example:8443" })],
    ["POST of an own page", request("POST", { origin: "http://localhost:3000" })],
    ["POST with a query", request("POST", {}, "/mcp?a=/x")],
    ["POST with a slash", request("POST", {}, "/mcp/")],
    ["POST with a slash and a query", request("POST", {}, "/mcp/?")],
    ["GET", request("GET", { accept: "text/event-stream" })],
    ["GET without accept", request("GET", { accept: undefined })],
    ["DELETE", request("DELETE", { accept: undefined })],
  ])("%s", (_, head) => {
    expect(admit(head)).toEqual({ ok: true, cors: plainHeaders });
  });

  it("C97: gives answers to a listed page its CORS headers", () => {
    expect(admit(request("POST", { origin: page }))).toEqual({ ok: true, cors: corsHeaders(page) });
    expect(admit(request("POST"))).toEqual({ ok: true, cors: plainHeaders });
  });

  it("makes nothing anew for a request like the last", () => {
    expect(admit(request("POST"))).toBe(admit(request("GET")));
    expect(admit(request("POST", { origin: page }))).toBe(admit(request("POST", { origin: page })));
  });
});

describe.each(methods)("%s", (method) => {
  it.each(["evil.example", "localhost.evil.example:3000", "mcp.example", undefined, ""])(
    "C98: from host %j is refused, on any path and before its origin",
    (host) => {
      for (const url of ["/mcp", "/", "/health"]) {
        const answer = answerTo(request(method, { host, origin: "http://evil.example" }, url));
        expect(answer).toMatchObject({ status: 403, headers: { "content-type": "application/json" } });
        expect(messageOf(answer)).toMatch(/^(the )?host /);
      }
    },
  );

  it.each(["http://evil.example", "http://localhost.evil.example:3000", "null", "http://app.example", ""])(
    "C96: from origin %j is refused, on any path and without CORS headers",
    (origin) => {
      for (const url of ["/mcp", "/", "/health"]) {
        const answer = answerTo(request(method, { origin }, url));
        expect(answer.status).toBe(403);
        expect(answer.headers).toEqual({ "content-type": "application/json", vary: "origin" });
        expect(messageOf(answer)).toBe(`origin "${origin}" is not allowed; list it in allowedOrigins`);
      }
    },
  );

  it.each(["/", "", "/mcp//", "/mcpx", "/MCP", "/mcp/x", "/x?/mcp", "//mcp", "/mcp%2f", "http://localhost/mcp", "*"])(
    "on path %j is not found",
    (url) => {
      const answer = answerTo(request(method, { origin: page }, url));
      expect(answer).toMatchObject({ status: 404, headers: corsHeaders(page) });
      expect(messageOf(answer)).toBe(`nothing is served at "${url.split("?")[0]}"; use /mcp`);
    },
  );
});

describe("OPTIONS", () => {
  it("C97: of a listed page is a preflight", () => {
    const answer = answerTo(request("OPTIONS", { origin: page, "access-control-request-headers": "mcp-param-a,b" }));
    expect(answer).toMatchObject({ status: 204, body: "" });
    expect(answer.headers).toMatchObject({ "access-control-allow-origin": page, vary: "origin" });
    expect(answer.headers["access-control-allow-headers"]).toMatch(/dpop, mcp-param-a$/);
  });

  it.each([undefined, "http://localhost:3000"])("C97: from origin %j tells what is allowed", (origin) => {
    const asks = { origin, "access-control-request-private-network": "true" };
    const allow = "GET, POST, DELETE, OPTIONS";
    expect(answerTo(request("OPTIONS", asks))).toEqual({ status: 204, headers: { vary: "origin", allow }, body: "" });
    expect(answerTo(request("OPTIONS", asks), modern).headers.allow).toBe("POST, OPTIONS");
  });
});

describe("methods", () => {
  it.each(["PUT", "PATCH", "HEAD", "TRACE", "CONNECT", "post", ""])("C112: %j is 405 with allow", (method) => {
    const answer = answerTo(request(method, { origin: page }));
    expect(answer).toMatchObject({
      status: 405,
      headers: { ...corsHeaders(page), allow: "GET, POST, DELETE, OPTIONS" },
    });
    expect(messageOf(answer)).toBe(`method "${method}" is not served; use one of GET, POST, DELETE, OPTIONS`);
  });

  it.each(["GET", "DELETE"])("C112: %s is 405 where it is not served", (method) => {
    const answer = answerTo(request(method), modern);
    expect(answer).toMatchObject({ status: 405, headers: { allow: "POST, OPTIONS" } });
    expect(modern.admit(request("POST")).ok).toBe(true);
  });
});

describe("refusals by header", () => {
  const post = (headers: Headers) => request("POST", headers);
  const both = "must list application/json and text/event-stream";
  const notJson = "is not supported; send application/json in utf-8";

  it.each<readonly [string, number, HttpHead, string]>([
    ["C104", 415, post({ "content-type": undefined }), `content-type (none) ${notJson}`],
    ["C104", 415, post({ "content-type": "text/plain" }), `content-type "text/plain" ${notJson}`],
    [
      "C104",
      415,
      post({ "content-type": "text/plain; a=application/json" }),
      `content-type "text/plain; a=application/json" ${notJson}`,
    ],
    ["C104", 406, post({ accept: "application/json" }), `accept "application/json" ${both}`],
    ["C104", 406, post({ accept: "text/event-stream" }), `accept "text/event-stream" ${both}`],
    ["C104", 406, post({ accept: "" }), `accept "" ${both}`],
    [
      "C104",
      406,
      request("GET", { accept: "application/json" }),
      'accept "application/json" must list text/event-stream',
    ],
    [
      "V29",
      415,
      post({ "content-encoding": "gzip" }),
      'content-encoding "gzip" is not supported; send the body as it is',
    ],
    [
      "V29",
      415,
      post({ "content-encoding": "identity, br" }),
      'content-encoding "identity, br" is not supported; send the body as it is',
    ],
    ["C112", 413, post({ "content-length": "1001" }), 'content-length "1001" is too large; send at most 1000 bytes'],
    [
      "C112",
      413,
      post({ "content-length": "9".repeat(400) }),
      `content-length "${"9".repeat(100)}…" is too large; send at most 1000 bytes`,
    ],
    ...["", "x", "-1", "+1", "1e2", "0x1", "1.0", "5, 5", "١"].map(
      (length) =>
        [
          "C112",
          400,
          post({ "content-length": length }),
          `content-length "${length}" must be a number of bytes`,
        ] as const,
    ),
  ])("%s: %i", (_, status, head, message) => {
    const answer = answerTo(head);
    expect(answer).toMatchObject({ status, headers: { "content-type": "application/json", vary: "origin" } });
    expect(messageOf(answer)).toBe(message);
  });

  it("names the encoding to use", () => {
    expect(answerTo(post({ "content-encoding": "gzip" })).headers["accept-encoding"]).toBe("identity");
  });

  it("C97: a listed page can read them", () => {
    for (const name of ["content-type", "content-length", "accept", "content-encoding"]) {
      expect(answerTo(post({ origin: page, [name]: "?" })).headers).toMatchObject(corsHeaders(page));
    }
  });

  it("checks the encoding, then the type, then what is accepted, then the length", () => {
    const bad = { "content-encoding": "br", "content-type": "x/y", accept: "x/y", "content-length": "z" };
    const fixes = [
      {},
      { "content-encoding": undefined },
      { "content-type": "application/json" },
      { accept: "*/*" },
      { "content-length": "1" },
    ];
    let headers: Headers = bad;
    const statuses = fixes.map((fix) => {
      headers = { ...headers, ...fix };
      const admitted = admit(post(headers));
      return admitted.ok ? 200 : admitted.answer.status;
    });
    expect(statuses).toEqual([415, 415, 406, 400, 200]);
  });

  it("quotes what was sent without what does not show", () => {
    const answer = answerTo(post({ "content-type": `a\r\n\u0000\u007f\u202eb${"c".repeat(200)}` }));
    expect(messageOf(answer)).toMatch(/^content-type "abc{93}…" is not supported/);
  });
});

describe("createAdmission", () => {
  it("C96: takes no origin for its own where any host will do", () => {
    const open = createAdmission({ ...options, hosts: "any" });
    const rebound = { host: "evil.example:3000", origin: "http://evil.example:3000" };
    expect(answerTo(request("POST", rebound), open).status).toBe(403);
    expect(open.admit(request("POST", { ...rebound, origin: page })).ok).toBe(true);
    expect(open.admit(request("POST", { ...rebound, origin: undefined })).ok).toBe(true);
  });

  it.each([
    ["/", "/", true],
    ["/", "/?q", true],
    ["/", "//", false],
    ["/a/", "/a/", true],
    ["/a/", "/a", false],
    ["/a/", "/a//", false],
  ])("serving %s, finds %s: %j", (path, url, ok) => {
    expect(createAdmission({ ...options, path }).admit(request("POST", {}, url)).ok).toBe(ok);
  });

  it.each(["", "mcp", "/mcp?x", "/mcp#x", "/a b", "http://localhost/mcp"])("refuses the path %j", (path) => {
    expect(() => createAdmission({ ...options, path })).toThrow(
      expect.objectContaining({
        code: "invalid-definition",
        message: `path "${path}" must start with / and have no query`,
      }),
    );
  });

  it("refuses entries that are no hosts or origins", () => {
    expect(() => createAdmission({ ...options, hosts: ["*"] })).toThrow('allowed host "*"');
    expect(() => createAdmission({ ...options, origins: ["*"] })).toThrow('allowed origin "*"');
  });
});
