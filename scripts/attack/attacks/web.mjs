import { gzipSync } from "node:zlib";
import { initializeRequest, modernHeaders, modernRequest, outcomeOf } from "../messages.mjs";
import { judge, notApplicable, quoted } from "../verdicts.mjs";

// What a web page, a proxy or a name server could send in somebody's name.

export const webAttacks = [
  {
    id: "foreign-host",
    covers: ["V1"],
    title: "sends Host headers that are not the server's",
    async run(ctx) {
      const { port } = ctx.first.wire.url;
      const hosts = [
        "evil.example",
        `evil.example:${port}`,
        `localhost.evil.example:${port}`,
        `127.0.0.1.evil.example:${port}`,
        `localhost@evil.example:${port}`,
        `evil.example\tlocalhost`,
      ];
      const tried = hosts.flatMap((host) => ["POST", "GET", "OPTIONS", "DELETE"].map((method) => ({ method, host })));
      return judge(
        await problemsOf(tried, async ({ method, host }) => {
          const { status } = await send(ctx, { method, headers: { host } });
          return isServed(status) ? `${method} with Host ${quoted(host)} was answered with HTTP ${status}` : undefined;
        }),
        `${tried.length} requests with ${hosts.length} foreign hosts were refused`,
      );
    },
  },
  {
    id: "dns-rebinding",
    covers: ["V1", "V3"],
    title: "calls as a page whose own name leads to the server",
    async run(ctx) {
      const name = `rebound.example:${ctx.first.wire.url.port || 80}`;
      const headers = { host: name, origin: `http://${name}`, "sec-fetch-site": "same-origin" };
      const answers = await Promise.all(["POST", "GET"].map((method) => send(ctx, { method, headers })));
      const problems = answers.flatMap((answer) =>
        isServed(answer.status) ? [`a page of ${name} was answered with HTTP ${answer.status}`] : [],
      );
      return judge(problems, `a page of ${name} got HTTP ${answers[0].status}`);
    },
  },
  {
    id: "foreign-origin",
    covers: ["V1", "V2", "V3"],
    title: "calls as a page of another origin",
    async run(ctx) {
      const origins = [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://localhost:1",
        "file://",
      ];
      const problems = await problemsOf(origins, async (origin) => {
        const headers = { origin, "access-control-request-method": "POST", "access-control-request-headers": "x" };
        const asked = await send(ctx, { method: "OPTIONS", headers });
        const posted = await send(ctx, { headers: { origin } });
        for (const answer of [asked, posted]) {
          const allowed = answer.headers["access-control-allow-origin"];
          if (allowed !== undefined) return `origin ${quoted(origin)} may read answers: ${quoted(allowed)}`;
        }
        return isServed(posted.status)
          ? `a page of ${quoted(origin)} was answered with HTTP ${posted.status}`
          : undefined;
      });
      return judge(problems, `pages of ${origins.length} origins were refused and may read nothing`);
    },
  },
  {
    id: "simple-post",
    covers: ["V2"],
    title: "posts with content types that any page may send",
    async run(ctx) {
      const types = [
        "text/plain",
        "text/plain; charset=application/json",
        "text/plain;a=application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json-but-not",
        "",
      ];
      const problems = await problemsOf(types, async (type) => {
        const { status } = await send(ctx, { headers: { "content-type": type || undefined } });
        return isServed(status) ? `content type ${quoted(type)} was answered with HTTP ${status}` : undefined;
      });
      return judge(problems, `${types.length} content types were refused`);
    },
  },
  {
    id: "compressed-body",
    covers: ["V29"],
    title: "sends a small body that unpacks to 64 MiB",
    async run(ctx) {
      const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));
      const sent = { headers: { ...modernHeaders("tools/list"), "content-encoding": "gzip" }, body: bomb };
      const { status } = await ctx.first.wire.request(sent);
      return judge(isServed(status) ? [`HTTP ${status}`] : [], `${bomb.length} bytes of gzip got HTTP ${status}`);
    },
  },
  {
    id: "split-response",
    covers: ["V19"],
    title: "puts line breaks where they could end up in a header of the answer",
    async run(ctx) {
      const evil = encodeURIComponent("x\r\nx-injected: yes\r\n\r\n");
      const raw = "x\u010d\u010ax-injected: yes";
      const answers = await Promise.all([
        ctx.first.wire.request({ method: "GET", path: `${ctx.first.wire.path}?a=${evil}` }),
        ctx.first.wire.request({ method: "POST", path: `/${evil}`, body: "{}" }),
        send(ctx, { headers: { "last-event-id": encodeURIComponent(raw), "mcp-session-id": evil } }),
      ]);
      const problems = answers.flatMap(({ headers }) => ("x-injected" in headers ? ["a header was injected"] : []));
      return judge(problems, "no answer has the injected header");
    },
  },
  {
    id: "internal-headers",
    covers: ["V35"],
    title: "names itself by the headers of gateways and proxies",
    needs: ["credentials"],
    async run(ctx) {
      const claims = [
        "x-user",
        "x-forwarded-user",
        "x-remote-user",
        "x-auth-request-user",
        "mcp-init-host",
        "router-key",
      ];
      const headers = Object.fromEntries(claims.map((name) => [name, "admin"]));
      const { status } = await send(ctx, { headers, anonymous: true });
      return judge(
        isServed(status) ? [`HTTP ${status} without credentials`] : [],
        `HTTP ${status} without credentials`,
      );
    },
  },
  {
    id: "no-credentials",
    covers: ["V13"],
    title: "calls without credentials, or with wrong ones",
    needs: ["credentials"],
    async run(ctx) {
      const names = Object.keys(ctx.first.wire.headers);
      const wrong = [
        "",
        "x",
        "Bearer ",
        "Bearer null",
        `Bearer ${"x".repeat(8_000)}`,
        "Basic Og==",
        "bearer eyJhbGciOiJub25lIn0.e30.",
      ];
      const tried = [
        { headers: {} },
        ...wrong.map((value) => ({ headers: Object.fromEntries(names.map((name) => [name, value])) })),
      ];
      const problems = await problemsOf(tried, async ({ headers }) => {
        for (const method of ["POST", "GET", "DELETE"]) {
          const { status } = await send(ctx, { method, headers, anonymous: true });
          if (isServed(status))
            return `${method} with ${quoted(JSON.stringify(headers))} was answered with HTTP ${status}`;
        }
      });
      return judge(problems, `${tried.length} ways to come without valid credentials were refused`);
    },
  },
  {
    id: "token-in-query",
    covers: ["V30"],
    title: "sends its credentials in the URL",
    needs: ["credentials"],
    async run(ctx) {
      const [token = ""] = Object.values(ctx.first.wire.headers);
      const query = new URLSearchParams({ access_token: token.replace(/^Bearer /i, ""), token, api_key: token });
      const path = `${ctx.first.wire.path}?${query}`;
      const { status } = await send(ctx, { path, anonymous: true });
      return judge(isServed(status) ? [`HTTP ${status}`] : [], `a token in the URL got HTTP ${status}`);
    },
  },
  {
    id: "other-methods",
    covers: ["V2"],
    title: "uses methods that mean nothing here",
    async run(ctx) {
      const methods = ["PUT", "PATCH", "HEAD", "TRACE", "PROPFIND", "QUERY"];
      const problems = await problemsOf(methods, async (method) => {
        const { status, text } = await send(ctx, { method });
        return isServed(status) ? `${method} was answered with HTTP ${status} ${quoted(text)}` : undefined;
      });
      return judge(problems, `${methods.length} methods were refused`);
    },
  },
  {
    id: "no-session",
    covers: ["V25"],
    title: "opens streams without a session",
    needs: ["legacy"],
    async run({ first }) {
      const statuses = [];
      for (let n = 0; n < 20; n++) {
        const stream = await first.wire.stream({ method: "GET" });
        statuses.push(stream.status);
        stream.close();
      }
      const served = statuses.filter((status) => status === 200).length;
      if (served > 0 && first.wire.url.pathname.endsWith("/sse")) return notApplicable("the URL is one of HTTP+SSE");
      return judge(served > 0 ? [`${served} of 20 streams were opened`] : [], `HTTP ${statuses[0]} for all 20`);
    },
  },
  {
    id: "wrong-revision",
    covers: ["V20"],
    title: "names revisions that do not exist",
    async run({ first }) {
      const revisions = ["9999-12-31", "2026-07-28x", "__proto__", "1.0", " "];
      const problems = await problemsOf(revisions, async (revision) => {
        const headers = { ...modernHeaders("tools/list"), "mcp-protocol-version": revision };
        const body = JSON.stringify(modernRequest("tools/list"));
        const { kind, status } = outcomeOf(await first.wire.request({ headers, body }), 1);
        return kind === "result" ? `revision ${quoted(revision)} was answered with HTTP ${status}` : undefined;
      });
      return judge(problems, `${revisions.length} revisions were refused`);
    },
  },
];

/** A request that would be served, but for what the attack makes of it. */
function send({ first, target }, { method = "POST", headers = {}, path, anonymous }) {
  const usual = target.isModern ? modernHeaders("server/discover") : {};
  const body = JSON.stringify(target.isModern ? modernRequest("server/discover") : initializeRequest());
  const isPost = method !== "GET" && method !== "HEAD" && method !== "DELETE" && method !== "OPTIONS";
  return first.wire.request({
    method,
    headers: { ...(isPost && usual), ...headers },
    path,
    anonymous,
    body: isPost ? body : undefined,
    timeoutMs: 5_000,
  });
}

function isServed(status) {
  return status >= 200 && status < 300;
}

/** What went wrong in each attempt, one after the other. */
async function problemsOf(tried, attempt) {
  const problems = [];
  for (const one of tried) {
    const problem = await attempt(one);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}
