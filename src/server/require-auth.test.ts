import { expect, it } from "vitest";
import { peer, send } from "../../test/support/direct.ts";
import { modernCall } from "../../test/support/fake-endpoint.ts";
import { toFetchHandler } from "../transport/http/fetch-handler.ts";
import { requireAuth } from "./context.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const server = createServer({
  name: "mine",
  version: "1",
  tools: { mine: tool({ run: (_, ctx) => `of ${requireAuth(ctx).principal}` }) },
});

it("a handler that takes somebody runs for whoever is known", async () => {
  const auth = { principal: "ann" };
  expect(await send(server, "tools/call", { name: "mine" }, { peer: { ...peer(), auth } })).toMatchObject({
    result: { content: [{ text: "of ann" }] },
  });
});

it("a handler that takes somebody fails for nobody, as what was not allowed", async () => {
  expect(await send(server, "tools/call", { name: "mine" })).toMatchObject({
    kind: "failed",
    failure: {
      code: "unauthorized",
      message: "this needs an authenticated caller: sign in first",
      data: { reason: "no-caller" },
    },
  });
});

it("a client that need not say who it is, and is wanted to, gets 401 with a way to do so", async () => {
  const metadata = { authorization_servers: ["https://login.example"] };
  const auth = Object.assign(() => ({ ok: true as const }), { metadata });
  const handle = toFetchHandler(server, { path: "/mcp", allowedHosts: ["shop.example"], auth });
  const { body, headers } = modernCall(1, "mine");
  const types = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  const request = { method: "POST", headers: { ...types, ...headers }, body: JSON.stringify(body) };
  const response = await handle(new Request("https://shop.example/mcp", request));
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toContain("resource_metadata=");
});
