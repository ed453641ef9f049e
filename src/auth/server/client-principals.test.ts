import { describe, expect, it } from "vitest";
import { audience, createFakeIssuer, noon } from "../../../test/support/tokens.ts";
import { connect } from "../../connect/index.ts";
import { rateLimit } from "../../middleware/rate-limit.ts";
import { createServer } from "../../server/server.ts";
import { tool } from "../../server/tool.ts";
import { systemClock } from "../../std/clock.ts";
import { toFetchHandler } from "../../transport/http/fetch-handler.ts";
import { createJwt } from "./jwt.ts";

async function setUp() {
  const issuer = await createFakeIssuer();
  const auth = createJwt(
    { issuer: issuer.issuer, audience, jwks: issuer.jwks },
    { fetch: () => Promise.reject(new Error("nothing may be asked")), now: () => noon },
  );
  const server = createServer({
    name: "shop",
    version: "1.0.0",
    middleware: [rateLimit({ limit: 2, windowMs: 60_000, clock: { ...systemClock, date: () => noon } })],
    tools: {
      who: tool({ run: (_, ctx) => ctx.auth?.principal ?? "nobody" }),
      grind: tool({ task: "required", run: () => "flour" }),
    },
  });
  const handle = toFetchHandler(server, { allowedHosts: ["shop.example"], auth });
  const headers = async (claims: object) => ({ authorization: `Bearer ${await issuer.token({ ...claims })}` });
  return {
    fetch: async (...args: Parameters<typeof fetch>) => handle(new Request(...args)),
    user: await headers({ sub: "ann", client_id: "desktop" }),
    client: await headers({ sub: "ann", client_id: "ann" }),
  };
}

const url = "https://shop.example/mcp";

describe("client_id principals live in their own namespace: a client named like a user", () => {
  it("has rate limits of its own", async () => {
    const { fetch, user, client } = await setUp();
    await using ann = await connect(url, { fetch, headers: user });
    await using robot = await connect(url, { fetch, headers: client });
    for (let calls = 0; calls < 2; calls++) await robot.callTool("who");
    await expect(robot.callTool("who")).rejects.toMatchObject({ code: "limit-reached" });
    const { content } = await ann.callTool("who");
    expect(content).toEqual([{ type: "text", text: "https://login.example#ann" }]);
  });

  it("finds no task of the user", async () => {
    const { fetch, user, client } = await setUp();
    await using ann = await connect(url, { fetch, headers: user });
    await using robot = await connect(url, { fetch, headers: client });
    const task = await ann.tasks.start("grind");
    await expect(robot.tasks.resume(task.id ?? "")).rejects.toMatchObject({ code: "invalid-params" });
    expect((await task.result()).content).toEqual([{ type: "text", text: "flour" }]);
  });

  it("cannot use a session of the user (H6)", async () => {
    const { fetch, user, client } = await setUp();
    let session = "";
    const seen = async (...args: Parameters<typeof globalThis.fetch>) => {
      const response = await fetch(...args);
      session = response.headers.get("mcp-session-id") ?? session;
      return response;
    };
    await using _ann = await connect(url, { fetch: seen, headers: user, revision: "2025-11-25" });
    expect(session).not.toBe("");
    const ping = (headers: Readonly<Record<string, string>>) =>
      fetch(url, {
        method: "POST",
        headers: {
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          "mcp-session-id": session,
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      });
    expect([(await ping(client)).status, (await ping(user)).status]).toEqual([404, 200]);
  });
});
