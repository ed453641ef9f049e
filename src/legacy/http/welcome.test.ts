import { describe, expect, it } from "vitest";
import { hello, serve } from "../../../test/support/served.ts";
import { messagesIn } from "../../../test/support/sse-text.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Authenticator } from "../../protocol/authenticator.ts";
import type { Service } from "../../protocol/service.ts";
import { createServer } from "../../server/server.ts";
import { tool } from "../../server/tool.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { toFetchHandler } from "../../transport/http/fetch-handler.ts";
import type { HttpOptions } from "../../transport/http/options.ts";

const slow = () =>
  createServer({ name: "slow", version: "1", tools: { wait: tool({ task: "auto", run: () => "done" }) } });
const quick = () => createServer({ name: "quick", version: "1", tools: { echo: tool({ run: () => "done" }) } });

/** Takes names for tokens, and lets those in who say nothing. */
const auth: Authenticator = (http) => {
  const token = http.header("authorization")?.slice("Bearer ".length);
  return token === undefined ? { ok: true } : { ok: true, auth: { principal: token } };
};

const greeting = (revision: string): JsonObject => ({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: hello(revision),
});

interface Opening {
  readonly service?: Service;
  readonly name?: string;
  readonly revision?: string;
}

function openerOf({ service = slow(), name, revision = "2025-11-25" }: Opening, options: HttpOptions) {
  const handle = toFetchHandler(service, { path: "/mcp", allowedHosts: ["shop.example"], auth, ...options });
  const send = (path: string, body?: JsonObject) =>
    handle(
      new Request(`https://shop.example${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          accept: body === undefined ? "text/event-stream" : "application/json, text/event-stream",
          "content-type": "application/json",
          ...(name !== undefined && { authorization: `Bearer ${name}` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
  return { send, hello: greeting(revision) };
}

/** What a client is told in its handshake. */
async function welcomeOf(opening: Opening, options: HttpOptions = {}): Promise<JsonObject> {
  const { send, hello } = openerOf(opening, options);
  const { result } = (await (await send("/mcp", hello)).json()) as { result: { capabilities: JsonObject } };
  return result.capabilities;
}

/** The same over HTTP+SSE, where the answer comes on the stream. */
async function sseWelcomeOf(opening: Opening): Promise<JsonObject> {
  const { send, hello } = openerOf(opening, { sse: true });
  const reader = (await send("/sse")).body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const until = async (part: string): Promise<void> => {
    while (!text.includes(part) || !text.endsWith("\n\n")) text += (await reader?.read())?.value ?? "";
  };
  await until("sessionId=");
  expect((await send(/data: (\S+)/.exec(text)?.[1] ?? "", hello)).status).toBe(202);
  await until('"id":0');
  await reader?.cancel();
  const [answer] = messagesIn(text) as readonly { result: { capabilities: JsonObject } }[];
  return answer?.result.capabilities ?? {};
}

const tasks = { cancel: {}, requests: { tools: { call: {} } } };

describe("the welcome of 2025-11-25", () => {
  it.each<[string, () => HttpOptions]>([
    ["in memory", () => ({})],
    ["in a store", () => ({ store: memoryStore() })],
    ["that are none", () => ({ sessions: false })],
  ])("says that tasks can be listed, to who is known, in sessions %s", async (_, options) => {
    expect(await welcomeOf({ name: "ann" }, options())).toEqual({ tools: {}, tasks: { ...tasks, list: {} } });
    expect(await welcomeOf({}, options())).toEqual({ tools: {}, tasks });
  });

  it("says so over HTTP+SSE, too", async () => {
    expect(await sseWelcomeOf({ name: "ann" })).toEqual({ tools: {}, tasks: { ...tasks, list: {} } });
    expect(await sseWelcomeOf({})).toEqual({ tools: {}, tasks });
  });

  it("says nothing of tasks where no tool makes any", async () => {
    expect(await welcomeOf({ service: quick(), name: "ann" })).toEqual({ tools: {} });
  });

  it("says nothing of lists where nobody is authenticated", async () => {
    const { client } = serve(slow());
    const { result } = await client.request("initialize", hello("2025-11-25"));
    expect(result).toMatchObject({ capabilities: { tools: {}, tasks } });
    expect(JSON.stringify(result)).not.toContain('"list"');
  });
});

it.each(["2024-11-05", "2025-03-26", "2025-06-18"])("the welcome of %s says nothing of tasks", async (revision) => {
  expect(await welcomeOf({ name: "ann", revision })).toEqual({ tools: {} });
});
