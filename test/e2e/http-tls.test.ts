import { request as httpsRequest } from "node:https";
import { connect as connectTo } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import type { Authenticator } from "../../src/protocol/authenticator.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { createManualClock } from "../../src/testing/clock.ts";
import { type HttpServeHandle, type ServeHttpOptions, serveHttp } from "../../src/transport/node/serve-http.ts";
import { modernCall } from "../support/fake-endpoint.ts";
import { eventually } from "../support/patience.ts";
import { createCertificate } from "../support/redis-certificate.ts";

const tls = createCertificate();
const shop = createServer({ name: "shop", version: "1.0.0", tools: { hello: tool({ run: () => "Hello" }) } });
const serve = (options: ServeHttpOptions = {}) => serveHttp(shop, { port: 0, tls, ...options });

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly challenge: string | undefined;
}

function ask({ port }: HttpServeHandle, path: string, post?: ReturnType<typeof modernCall>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const types = { accept: "application/json, text/event-stream", "content-type": "application/json" };
    const headers = post === undefined ? {} : { ...types, ...post.headers };
    const method = post === undefined ? "GET" : "POST";
    const sent = httpsRequest({ host: "127.0.0.1", port, path, method, ca: tls.cert, headers, agent: false });
    sent.on("error", reject);
    sent.on("response", async (response) => {
      let text = "";
      for await (const part of response.setEncoding("utf8")) text += part;
      resolve({ status: response.statusCode, text, challenge: response.headers["www-authenticate"] });
    });
    sent.end(post === undefined ? undefined : JSON.stringify(post.body));
  });
}

describe("tls of serveHttp", () => {
  it("serves the endpoint, health and routes over https", async () => {
    const routes = { "/where": (request: Request) => new Response(request.url) };
    await using serving = await serve({ health: true, routes });
    expect(serving.url).toBe(`https://127.0.0.1:${serving.port}/mcp`);
    expect((await ask(serving, "/mcp", modernCall(1, "hello"))).text).toContain('"text":"Hello"');
    expect((await ask(serving, "/readyz")).text).toBe('{"status":"ok","checks":{}}');
    expect((await ask(serving, "/where")).text).toBe(`https://127.0.0.1:${serving.port}/where`);
  });

  it("takes bytes as well as texts", async () => {
    const bytes = { key: new TextEncoder().encode(tls.key), cert: Buffer.from(tls.cert), ca: tls.cert };
    await using serving = await serve({ tls: bytes });
    expect((await ask(serving, "/mcp", modernCall(1, "hello"))).status).toBe(200);
  });

  it("names itself as https to who has to sign in", async () => {
    const refuse: Authenticator = async () => ({ ok: false, status: 401 });
    const auth = Object.assign(refuse, { metadata: { authorization_servers: ["https://id.example"] } });
    await using serving = await serve({ auth });
    const { status, challenge } = await ask(serving, "/mcp", modernCall(1, "hello"));
    expect(status).toBe(401);
    expect(challenge).toContain(`resource_metadata="https://127.0.0.1:${serving.port}/.well-known/`);
  });

  it("closes, whatever connections there are: unused, in the middle of a handshake, kept alive", async () => {
    const clock = createManualClock();
    const serving = await serve({ clock });
    const { port } = serving;
    const unused = connectTls({ port, host: "127.0.0.1", ca: tls.cert });
    await new Promise<void>((resolve) => unused.once("secureConnect", resolve));
    const half = connectTo(port, "127.0.0.1");
    await new Promise<void>((resolve) => half.once("connect", resolve));
    half.write(Buffer.from([22, 3, 1, 2, 0, 1]));
    const gone = [unused, half].map(
      (socket) =>
        new Promise<void>((resolve) =>
          socket
            .on("error", () => {})
            .resume()
            .once("close", () => resolve()),
        ),
    );
    await ask(serving, "/mcp", modernCall(1, "hello"));
    const closed = serving.close();
    await eventually(() => {
      clock.advance(1_000);
      expect(unused.destroyed && half.destroyed).toBe(true);
    });
    await Promise.all([closed, ...gone]);
  });

  it("refuses what is no certificate, and names what is missing", async () => {
    const other = createCertificate();
    await expect(serve({ tls: { key: other.key, cert: tls.cert } })).rejects.toMatchObject({
      code: "invalid-definition",
    });
    await expect(serve({ tls: { key: "no key", cert: tls.cert } })).rejects.toMatchObject({
      code: "invalid-definition",
    });
    const missing = { key: process.env.NO_SUCH_KEY as string, cert: tls.cert };
    await expect(serve({ tls: missing })).rejects.toMatchObject({
      code: "invalid-definition",
      message: "tls.key of serveHttp must be PEM: a text, or the bytes of a file",
    });
  });
});
