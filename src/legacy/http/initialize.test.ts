import { describe, expect, it } from "vitest";
import { hello, serve } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import { createServer } from "../../server/index.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { toFetchHandler } from "../../transport/http/fetch-handler.ts";
import type { HttpOptions } from "../../transport/http/options.ts";

const server = createServer({ name: "s", version: "1" });

/** Sends params of `initialize`, and gives the error that they get. */
type Initialize = (params: JsonObject) => Promise<unknown>;

function overHttp(options: HttpOptions): Initialize {
  const handle = toFetchHandler(server, { ...options, allowedHosts: "any" });
  return async (params) => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params });
    const response = await handle(new Request("http://localhost/mcp", { method: "POST", headers, body }));
    const { id, error } = (await response.json()) as { id: number; error?: unknown };
    return { id, error, session: response.headers.get("mcp-session-id") };
  };
}

const ways: Readonly<Record<string, Initialize>> = {
  "a channel": async (params) => {
    const { client, serving } = serve(server);
    const answer = await client.request("initialize", params);
    await serving.close();
    return { id: 7, error: answer.error, session: null };
  },
  "HTTP sessions": overHttp({}),
  "HTTP sessions in a store": overHttp({ store: Promise.resolve(memoryStore()) }),
  "HTTP without sessions": overHttp({ sessions: false }),
};

const good = hello("2025-06-18");
const without = (name: string): JsonObject => ({ ...good, [name]: undefined as never });

const flaws: readonly (readonly [string, JsonObject])[] = [
  ["params.protocolVersion must be a string", without("protocolVersion")],
  ["params.capabilities must be an object", without("capabilities")],
  ["params.clientInfo must be an object", without("clientInfo")],
  ["params.capabilities must be an object", { ...good, capabilities: [] }],
  ["params.capabilities must be an object", { ...good, capabilities: null }],
  ["params.capabilities.sampling must be an object", { ...good, capabilities: { sampling: true } }],
  ["params.clientInfo must be an object", { ...good, clientInfo: "agent" }],
  ["params.clientInfo.name must be a string", { ...good, clientInfo: { version: "1" } }],
  ["params.clientInfo.version must be a string", { ...good, clientInfo: { name: "agent", version: 1 } }],
];

describe.each(Object.entries(ways))("initialize over %s", (_, initialize) => {
  it.each(flaws)("is refused: %s (B3)", async (message, params) => {
    expect(await initialize(params)).toEqual({ id: 7, error: { code: -32602, message }, session: null });
  });

  it("takes capabilities and members that nobody knows (B3)", async () => {
    const params = {
      ...good,
      capabilities: { roots: {}, own: false },
      clientInfo: { name: "a", version: "", x: 1 },
      y: 2,
    };
    expect(await initialize(params)).toMatchObject({ error: undefined });
  });
});
