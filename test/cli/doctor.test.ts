import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import {
  createServer,
  request as forward,
  type Server as HttpServer,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/places.ts";
import { nodeWithSqlite } from "../store/node22.ts";
import { quietPort } from "../support/quiet-port.ts";
import { createHome, type Home, json, plugbay, shop } from "./support/cli.ts";
import { type ServedShop, serveShop } from "./support/served-shop.ts";

// `plugbay doctor` names the true cause of planted faults, as a real process.

let home: Home;
let served: ServedShop;
const sites: Server[] = [];
beforeAll(async () => {
  home = createHome();
  served = await serveShop();
});
afterAll(async () => {
  for (const one of sites) {
    one.close();
    if ("closeAllConnections" in one) (one as HttpServer).closeAllConnections();
  }
  await served.close();
});

interface Diagnosis {
  readonly isSound: boolean;
  readonly cause?: { readonly name: string; readonly message: string; readonly hint?: string };
  readonly steps: readonly { readonly name: string; readonly status: string; readonly message: string }[];
  readonly findings: readonly { readonly rule: string; readonly level: string; readonly message: string }[];
}

async function diagnose(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  node: string = process.execPath,
): Promise<Diagnosis & { readonly code: number | null }> {
  const ended = await plugbay(home, ["doctor", "--json", ...args], { env, node });
  return { ...(json(ended) as Diagnosis), code: ended.code };
}

async function listen(server: Server): Promise<number> {
  sites.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

async function site(answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(answer))}/mcp`;
}

/** A server of the oldest transport: a stream that names the endpoint, and the answers to what is posted there. */
function sseSite(): Promise<string> {
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "oldest", version: "1.0.0" },
    },
    "tools/list": { tools: [{ name: "look", description: "Looks", inputSchema: { type: "object" } }] },
    ping: {},
  };
  let stream: ServerResponse | undefined;
  return site(async (request, response) => {
    if (request.method === "GET" && request.url === "/mcp") {
      stream = response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write("event: endpoint\ndata: /messages\n\n");
    }
    if (request.url !== "/messages") return response.writeHead(405).end();
    let text = "";
    for await (const chunk of request) text += chunk;
    const { id, method } = JSON.parse(text);
    response.writeHead(202).end("Accepted");
    if (id === undefined) return undefined;
    const answer = { jsonrpc: "2.0", id, result: results[method] ?? {} };
    return stream?.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
  });
}

const always =
  (status: number, headers: Record<string, string>, body = ""): RequestListener =>
  (_, response) => {
    response.writeHead(status, headers).end(body);
  };

function jwt(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `authorization: Bearer ${part({ alg: "none" })}.${part(claims)}.x`;
}

const secondsFromNow = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

function selfSigned(): { readonly key: string; readonly cert: string } {
  const [key, cert] = [join(home.folder, "key.pem"), join(home.folder, "cert.pem")];
  const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, ...names];
  execFileSync("openssl", made, { stdio: "ignore" });
  return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
}

describe("doctor of a URL", () => {
  it("finds nothing broken, and calls a tool that only reads", async () => {
    const { code, isSound, steps } = await diagnose([served.url]);
    expect({ code, isSound }).toEqual({ code: 0, isSound: true });
    expect(steps.map(({ name }) => name)).toEqual(["dns", "tcp", "http", "protocol", "list", "call"]);
    expect(steps.at(-1)?.message).toContain("articles answered");
  });

  it("names a closed port", async () => {
    const { code, cause } = await diagnose([`http://127.0.0.1:${await quietPort()}/mcp`]);
    expect(code).toBe(3);
    expect(cause).toMatchObject({ name: "tcp", message: expect.stringContaining("refused") });
  });

  it("names a host that there is not", async () => {
    const { code, cause } = await diagnose(["http://no-such-host.invalid/mcp"]);
    expect(code).toBe(3);
    expect(cause).toMatchObject({ name: "dns", message: expect.stringContaining("no-such-host.invalid") });
  });

  it("names a proxy variable that is not used", async () => {
    const env = { HTTP_PROXY: "http://127.0.0.1:9" };
    const { cause } = await diagnose(["http://no-such-host.invalid/mcp"], env);
    expect(cause?.message).toContain("HTTP_PROXY is set, and is not used");
  });

  it.each(["127.0.0.1", "*", ".0.0.1", "other.example, 127.0.0.1"])(
    "knows that NO_PROXY excludes %s",
    async (excluded) => {
      const env = { HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: excluded };
      const { code, steps } = await diagnose([served.url], env);
      expect(code).toBe(0);
      expect(steps.map(({ name }) => name)).not.toContain("proxy");
    },
  );

  it("names a certificate that is self-signed", async () => {
    const port = await listen(createTlsServer(selfSigned(), always(200, {})));
    const { code, cause } = await diagnose([`https://127.0.0.1:${port}/mcp`]);
    expect(code).toBe(3);
    expect(cause).toMatchObject({ name: "tls", message: expect.stringContaining("self-signed") });
  });

  it("names a port that speaks no TLS", async () => {
    const { cause } = await diagnose([served.url.replace("http:", "https:")]);
    expect(cause).toMatchObject({ name: "tls", message: expect.stringContaining("does not speak TLS") });
  });

  it("names a missing sign-in, and ends with 4", async () => {
    const url = await site(always(401, { "www-authenticate": "Bearer" }));
    const { code, cause } = await diagnose([url]);
    expect(code).toBe(4);
    expect(cause).toMatchObject({ name: "auth", hint: expect.stringContaining(`plugbay login ${url}`) });
  });

  it("names an expired token", async () => {
    const url = await site(always(401, {}));
    const { code, cause } = await diagnose([url, "--header", jwt({ exp: secondsFromNow(-3600) })]);
    expect(code).toBe(4);
    expect(cause).toMatchObject({ name: "auth", message: expect.stringContaining("the token has expired at") });
  });

  it("names a clock that is wrong", async () => {
    const date = new Date(Date.now() + 7_200_000).toUTCString();
    const url = await site(always(401, { date }));
    const { cause } = await diagnose([url, "--header", jwt({ exp: secondsFromNow(3600) })]);
    expect(cause).toMatchObject({ name: "clock", message: expect.stringContaining("your clock is 2 h behind") });
  });

  it("names a wrong path, and the right one", async () => {
    const wrong = served.url.replace(/\/mcp$/, "/other");
    const { code, cause } = await diagnose([wrong]);
    expect(code).toBe(3);
    expect(cause).toMatchObject({ name: "path", hint: `use ${served.url}` });
  });

  it("names a web page", async () => {
    const { cause } = await diagnose([await site(always(200, { "content-type": "text/html" }, "<html></html>"))]);
    expect(cause).toMatchObject({ name: "path", message: expect.stringContaining("web page") });
  });

  it("names a server that speaks only HTTP+SSE, and goes on with it", async () => {
    const { code, isSound, steps } = await diagnose([await sseSite()]);
    expect({ code, isSound }).toEqual({ code: 0, isSound: true });
    expect(steps.map(({ name, status }) => `${name} ${status}`)).toEqual([
      "dns ok",
      "tcp ok",
      "http warning",
      "protocol warning",
      "list ok",
      "call ok",
    ]);
    expect(steps[2]?.message).toContain("only HTTP+SSE");
  });

  it("names a Host header that is refused", async () => {
    const url = await site((request, response) => {
      response.writeHead(request.headers.host === "localhost" ? 200 : 403).end();
    });
    const { cause } = await diagnose([url]);
    expect(cause).toMatchObject({ name: "host", message: expect.stringContaining("refuses the Host header") });
  });

  it("names a page that may not use the server", async () => {
    const { code, cause } = await diagnose([served.url, "--origin", "https://app.example.com"]);
    expect(code).toBe(3);
    expect(cause).toMatchObject({ name: "cors", message: expect.stringContaining("https://app.example.com") });
  });

  it("names a redirect to another origin", async () => {
    const { cause } = await diagnose([await site(always(302, { location: "https://sso.example.com/" }))]);
    expect(cause).toMatchObject({ name: "http", message: expect.stringContaining("https://sso.example.com") });
  });
});

const proxying = nodeWithSqlite();

// Node uses proxies of the environment since 22.21 and 24.5.
describe.skipIf(proxying === undefined)("doctor of a URL behind a proxy", () => {
  const used = { NODE_USE_ENV_PROXY: "1" };
  const diagnoseBy = (url: string, env: Readonly<Record<string, string>>) =>
    diagnose([url], { ...used, ...env }, proxying);

  /** A proxy that passes requests on when they have a password, and what it was asked for. */
  const startProxy = async (): Promise<{ readonly port: number; readonly asked: string[] }> => {
    const asked: string[] = [];
    const proxy = createServer((request, response) => {
      asked.push(request.url ?? "");
      if (request.headers["proxy-authorization"] === undefined) return response.writeHead(407).end();
      const { method = "", headers } = request;
      const onward = forward(request.url ?? "", { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      return request.pipe(onward);
    });
    proxy.on("connect", (_, socket) => socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"));
    return { port: await listen(proxy), asked };
  };

  it("goes through the proxy to the call", async () => {
    const { port, asked } = await startProxy();
    const { code, steps } = await diagnoseBy(served.url, { HTTP_PROXY: `http://ada:pass@127.0.0.1:${port}` });
    expect(code).toBe(0);
    expect(steps[0]).toMatchObject({ name: "proxy", status: "ok" });
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.every((url) => url.startsWith(served.url))).toBe(true);
  });

  it.each(["http", "https"])("names a proxy that wants a password, for %s:", async (scheme) => {
    const { port } = await startProxy();
    const url = served.url.replace("http:", `${scheme}:`);
    const { code, cause } = await diagnoseBy(url, { [`${scheme.toUpperCase()}_PROXY`]: `http://127.0.0.1:${port}` });
    expect(code).toBe(3);
    expect(cause).toMatchObject({ name: "proxy", message: "the proxy wants a password (407)" });
  });

  it.each(["http", "https"])("names a proxy that is closed, for %s:", async (scheme) => {
    const name = `${scheme.toUpperCase()}_PROXY`;
    const closed = `127.0.0.1:${await quietPort()}`;
    const { code, cause } = await diagnoseBy(served.url.replace("http:", `${scheme}:`), { [name]: `http://${closed}` });
    expect(code).toBe(3);
    expect(cause).toMatchObject({
      name: "proxy",
      message: expect.stringMatching(`the proxy ${closed} of ${name} cannot be reached: the connection was refused`),
    });
  });

  it("goes past the proxy where NO_PROXY says so", async () => {
    const { port, asked } = await startProxy();
    const env = { HTTP_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: "127.0.0.1" };
    const { code, steps } = await diagnoseBy(served.url, env);
    expect({ code, asked }).toEqual({ code: 0, asked: [] });
    expect(steps.map(({ name }) => name)).not.toContain("proxy");
  });
});

const faulty = join(root, "test", "fixtures", "children", "faulty-server.mjs");
const withFault = (fault: string, ...more: readonly string[]): readonly string[] => [
  ...["--env", `FAULT=${fault}`, ...more, "--", process.execPath, faulty],
];

describe("doctor of a program", () => {
  it("finds nothing broken", async () => {
    const { code, steps } = await diagnose(shop);
    expect(code).toBe(0);
    expect(steps.map(({ name }) => name)).toEqual(["program", "stdout", "spawn", "protocol", "list", "call"]);
  });

  it("names a program that there is not", async () => {
    const { code, cause } = await diagnose(["--", "no-such-program"]);
    expect(code).toBe(3);
    expect(cause).toMatchObject({ name: "program", message: expect.stringContaining("no-such-program") });
  });

  it("names a variable that is missing, and how to pass it on", async () => {
    const without = await diagnose(withFault("env"));
    expect(without.code).toBe(3);
    expect(without.cause).toMatchObject({ name: "environment", hint: expect.stringContaining("--env SHOP_API_KEY=") });
    const withOurs = await diagnose(withFault("env"), { SHOP_API_KEY: "x" });
    expect(withOurs.cause?.hint).toContain("pass it on with --env SHOP_API_KEY");
  });

  it("names what a crash said", async () => {
    const { cause } = await diagnose(withFault("crash"));
    expect(cause).toMatchObject({ name: "spawn", message: expect.stringContaining("the database is locked") });
  });

  it("names noise on stdout, also of a server that works", async () => {
    const { steps } = await diagnose(withFault("noise"));
    expect(steps).toContainEqual(
      expect.objectContaining({ name: "stdout", message: expect.stringContaining("Server started") }),
    );
    const { code, cause } = await diagnose(withFault("only-noise", "--connect-timeout", "300ms"));
    expect(code).toBe(3);
    expect(cause).toMatchObject({ name: "stdout", message: expect.stringContaining("listening") });
  });

  it("names a server that is mute", async () => {
    const mute = join(root, "test", "fixtures", "children", "mute.mjs");
    const { cause } = await diagnose(["--connect-timeout", "300ms", "--", process.execPath, mute]);
    expect(cause).toMatchObject({ name: "spawn", message: expect.stringContaining("did not answer") });
  });

  it("names a slow start", async () => {
    const { code, cause } = await diagnose(withFault("slow", "--connect-timeout", "800ms"));
    expect(code).toBe(3);
    expect(cause).toMatchObject({ name: "spawn", message: expect.stringContaining("starts too slowly") });
  });

  it("names a revision that nobody knows", async () => {
    const { code, cause } = await diagnose(withFault("revision"));
    expect(code).toBe(3);
    expect(cause?.name).toBe("revision");
  });

  it("names an answer that is too large", async () => {
    const { cause } = await diagnose(withFault("size"));
    expect(cause?.message).toMatch(/an answer is too large/);
  });

  it("names a schema that cannot be used, and ends with 1", async () => {
    const { code, isSound, cause, findings } = await diagnose(withFault("schema"));
    expect({ code, isSound }).toEqual({ code: 1, isSound: false });
    expect(cause).toMatchObject({ name: "schema", message: expect.stringContaining("look") });
    expect(findings).toContainEqual(expect.objectContaining({ rule: "schema", level: "error" }));
  });

  it("says how to see the error of a tool that it called", async () => {
    const { code, steps } = await diagnose(withFault("refuses"));
    expect(code).toBe(0);
    const hint = `see it with: plugbay call look -- ${process.execPath} ${faulty}`;
    expect(steps.at(-1)).toMatchObject({ name: "call", status: "warning", hint });
  });

  it("names invisible characters", async () => {
    const { code, findings } = await diagnose(withFault("invisible"));
    expect(code).toBe(0);
    expect(findings).toContainEqual(
      expect.objectContaining({ rule: "invisible", message: expect.stringContaining("U+200B") }),
    );
  });

  it("is for one target, and --origin for URLs", async () => {
    expect((await plugbay(home, ["doctor"])).code).toBe(2);
    expect((await plugbay(home, ["doctor", "--origin", "https://a.example", ...shop])).code).toBe(2);
    home.write("mcp.json", '{ "mcpServers": {');
    const { code, stderr } = await plugbay(home, ["doctor", "shop", "--config", "mcp.json"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/mcp\.json:1:\d+/);
  });
});
