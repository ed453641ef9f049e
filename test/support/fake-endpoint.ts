import type { JsonObject } from "../../src/json/json.ts";
import type { Service } from "../../src/protocol/service.ts";
import { createManualClock, type ManualClock } from "../../src/testing/clock.ts";
import { createEndpoint, type HttpEndpoint } from "../../src/transport/http/endpoint.ts";
import type { HttpOptions } from "../../src/transport/http/options.ts";
import { createFakeReply, type FakeReply, fakeHead } from "./fake-reply.ts";
import { hello, modern } from "./served.ts";
import { messagesIn } from "./sse-text.ts";

type Headers = Readonly<Record<string, string>>;

/** An endpoint without sockets, on a clock of the test. */
export interface FakeEndpoint {
  readonly endpoint: HttpEndpoint;
  readonly clock: ManualClock;
  /** One request that was admitted. */
  request(method: string, body: string, headers?: Headers, url?: string): FakeReply;
  post(message: unknown, headers?: Headers): FakeReply;
  get(headers?: Headers): FakeReply;
  /** Opens a session. Gives the headers that name it. */
  open(revision?: string, capabilities?: JsonObject): Promise<{ readonly "mcp-session-id": string }>;
  /** Resolves when nothing is left to happen without a client or the clock. */
  settled(): Promise<void>;
}

export function serveFake(service: Service, options: HttpOptions = {}): FakeEndpoint {
  const clock = createManualClock();
  const endpoint = createEndpoint(service, { clock, ...options });
  const callers = endpoint.createCallers();

  const request: FakeEndpoint["request"] = (method, body, headers, url) => {
    const head = fakeHead(headers, method, url);
    const reply = createFakeReply(callers.of(head));
    endpoint.handle(head, body, reply);
    return reply;
  };
  const post: FakeEndpoint["post"] = (message, headers) => request("POST", JSON.stringify(message), headers);

  return {
    endpoint,
    clock,
    request,
    post,
    get: (headers) => request("GET", "", headers),
    async open(revision = "2025-11-25", capabilities = {}) {
      const reply = post({ jsonrpc: "2.0", id: 0, method: "initialize", params: hello(revision, capabilities) });
      await reply.begun;
      const id = (reply.sent?.headers ?? reply.head)?.["mcp-session-id"];
      if (id === undefined) throw new Error(`no session: ${JSON.stringify(reply.sent)}`);
      const session = { "mcp-session-id": id };
      post({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
      await clock.advanceAsync(0);
      return session;
    },
    settled: () => clock.advanceAsync(0),
  };
}

/** A call of a tool, as older clients make it. */
export function callOf(id: number | string, name: string, args: JsonObject = {}): JsonObject {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } };
}

/** A request as modern clients make it, with the headers that repeat it. */
export interface ModernRequest {
  readonly body: JsonObject;
  readonly headers: Headers;
}

export function modernRequest(
  id: number | string,
  method: string,
  params: JsonObject = {},
  meta: JsonObject = {},
): ModernRequest {
  const name = params.name ?? params.uri;
  return {
    body: { jsonrpc: "2.0", id, method, params: modern(params, meta) },
    headers: {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    },
  };
}

export function modernCall(
  id: number | string,
  name: string,
  args: JsonObject = {},
  meta: JsonObject = {},
): ModernRequest {
  return modernRequest(id, "tools/call", { name, arguments: args }, meta);
}

/** All messages of an answer, plain or not. */
export function messagesOf({ sent, sink }: FakeReply): readonly JsonObject[] {
  if (sink !== undefined) return messagesIn(sink.text);
  if (sent === undefined || sent.body === "") return [];
  if (sent.headers["content-type"] === "text/event-stream") return messagesIn(sent.body);
  const value: JsonObject | readonly JsonObject[] = JSON.parse(sent.body);
  return Array.isArray(value) ? value : [value as JsonObject];
}
