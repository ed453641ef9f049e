import { afterEach, describe, expect, it } from "vitest";
import { connect } from "../../src/connect/index.ts";
import { rateLimit } from "../../src/middleware/rate-limit.ts";
import { McpError } from "../../src/protocol/errors.ts";
import type { Revision } from "../../src/protocol/revision.ts";
import { createServer, tool } from "../../src/server/index.ts";
import { systemClock } from "../../src/std/clock.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { type HttpServeHandle, type ServeHttpOptions, serveHttp } from "../../src/transport/node/serve-http.ts";
import { modernCall } from "../support/fake-endpoint.ts";
import { createRawClient, openRawSession } from "../support/raw-http.ts";
import { request } from "../support/served.ts";
import { openModern, sessionClients } from "./support/over-http.ts";

// A rate limit over real sockets: what a proxy, our client and those of the official SDK see of it.

const windowMs = 60_000;
/** 15 s into a window: what follows one call in it has to wait for the rest, and for all of the next one. */
const now = () => 10 * windowMs + 15_000;
const retryAfterMs = 2 * windowMs - 15_000;
const message =
  "rate limit reached: the limit is 1 in 60 s for this caller, counted over this window and the one before; retry in 105 s";

const servings: HttpServeHandle[] = [];
afterEach(async () => {
  await Promise.all(servings.splice(0).map((serving) => serving.close()));
});

/** A server that takes one call, and has taken it. */
async function spent(options: ServeHttpOptions = {}): Promise<HttpServeHandle> {
  const limit = rateLimit({ limit: 1, windowMs, clock: { ...systemClock, date: now }, by: () => "everybody" });
  const tools = { echo: tool({ run: () => "done" }) };
  const server = createServer({ name: "limited", version: "1", middleware: [limit], tools });
  const serving = await serveHttp(server, { port: 0, ...options });
  servings.push(serving);
  await using client = await connect(serving.url);
  await client.callTool("echo");
  return serving;
}

const ways: readonly [string, ServeHttpOptions][] = [
  ["with sessions in memory", {}],
  ["with sessions in a store", { store: Promise.resolve(memoryStore()) }],
  ["without sessions", { sessions: false }],
  ["by streams", { respondWith: "sse" }],
];

const error = {
  code: -32603,
  message,
  data: { reason: "limit-reached", limit: "rateLimit", max: 1, scope: "principal", retryAfterMs, windowMs },
};

describe.each(ways)("a call over its rate limit, %s", (_way, options) => {
  it("is answered with 429 and Retry-After to a client of 2026-07-28 (C112, X1)", async () => {
    const { port } = await spent(options);
    const answer = await createRawClient(port).request(modernCall(7, "echo", {}));
    expect([answer.status, answer.headers["retry-after"]]).toEqual([429, "105"]);
    expect(answer.messages).toEqual([{ jsonrpc: "2.0", id: 7, error }]);
  });

  it("is answered with 429 and Retry-After to a client of 2025-11-25 (C112, X1)", async () => {
    const { port } = await spent(options);
    const body = request(7, "tools/call", { name: "echo" });
    const raw = createRawClient(port);
    const alone = { body, headers: { "mcp-protocol-version": "2025-11-25" } };
    const answer = await (options.sessions === false ? raw.request(alone) : (await openRawSession(raw)).post(body));
    expect([answer.status, answer.headers["retry-after"]]).toEqual([429, "105"]);
    expect(answer.messages).toEqual([{ jsonrpc: "2.0", id: 7, error }]);
  });

  it.each<Revision>(["2026-07-28", "2025-11-25"])(
    "is limit-reached with the time to wait in our client, %s (C112)",
    async (revision) => {
      await using client = await connect((await spent(options)).url, { revision });
      const failed = await client.callTool("echo").catch((reason: unknown) => reason);
      expect(failed).toBeInstanceOf(McpError);
      expect(failed).toMatchObject({
        code: "limit-reached",
        message,
        data: { limit: "rateLimit", max: 1, scope: "principal", retryAfterMs, windowMs },
      });
    },
  );
});

describe("a call over its rate limit", () => {
  it.each(sessionClients)(
    "says why in the official client, version $version, in a session (C112)",
    async ({ open }) => {
      await using client = await open((await spent()).url);
      await expect(client.session.call("echo")).rejects.toThrow(/rate limit reached: .* retry in 105 s/);
    },
  );

  it("says why in the official client of 2026-07-28 (C112)", async () => {
    await using client = await openModern((await spent()).url);
    await expect(client.session.call("echo")).rejects.toThrow(/rate limit reached: .* retry in 105 s/);
  });
});
