import { createMcpHandler, type InputRequiredResult, inputRequired, Server } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { isObject, type JsonObject } from "../../src/json/json.ts";
import { parseText } from "../../src/jsonrpc/message.ts";
import { methodRow } from "../../src/protocol/methods.ts";
import type { CallOf, Outcome } from "../../src/protocol/service.ts";
import { codecFor } from "../support/codecs.ts";
import { answers } from "./example-questions.ts";
import { callOf, client, clientCapabilities, results, serverCapabilities } from "./examples.ts";

// The official server of version 2 checks every request of 2026-07-28 with its
// own schemas. Our codec makes the requests here, and reads the results.

const codec = codecFor("2026-07-28");
const info = { name: "official", version: "2" };

/** What the server was sent, as it understood it. */
interface Heard {
  params?: unknown;
  meta?: unknown;
  responses?: unknown;
}

function officialServer(heard: Heard): Server {
  const server = new Server(info, { capabilities: serverCapabilities as never, instructions: "hello" });
  server.setRequestHandler("tools/list", () => plain("tools/list"));
  server.setRequestHandler("resources/list", () => plain("resources/list"));
  server.setRequestHandler("resources/templates/list", () => plain("resources/templates/list"));
  server.setRequestHandler("resources/read", () => plain("resources/read"));
  server.setRequestHandler("prompts/list", () => plain("prompts/list"));
  server.setRequestHandler("prompts/get", () => plain("prompts/get"));
  server.setRequestHandler("completion/complete", () => plain("completion/complete"));
  server.setRequestHandler("tools/call", (request, context) => {
    heard.params = request.params;
    heard.meta = context.mcpReq.envelope;
    heard.responses = context.mcpReq.inputResponses;
    return request.params.name === "ask" && heard.responses === undefined ? question() : plain("tools/call");
  });
  return server;
}

function plain(method: keyof typeof results): never {
  return structuredClone(results[method]) as never;
}

function question(): InputRequiredResult {
  const requestedSchema = { type: "object", properties: { name: { type: "string" } } } as const;
  const inputRequests = { q: inputRequired.elicit({ message: "Who?", requestedSchema }) };
  return inputRequired({ inputRequests, requestState: "s" });
}

/** Sends a call the way of HTTP, which repeats some of it in headers. */
async function send(call: CallOf, heard: Heard = {}): Promise<Outcome> {
  const params = codec.encodeCall(call, 1);
  const { nameParam } = methodRow(call.method);
  const name = nameParam === undefined ? undefined : params[nameParam];
  const response = await createMcpHandler(() => officialServer(heard)).fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": call.method,
        ...(typeof name === "string" && { "mcp-name": name }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: call.method, params }),
    }),
  );
  const message = parseText(jsonOf(await response.text()));
  if (message.kind === "success") return codec.decodeResult(call.method, message.result);
  if (message.kind === "failure") return { kind: "failed", failure: codec.decodeFailure(message.error) };
  throw new Error(`unexpected ${message.kind}`);
}

/** The last event, or the body itself. */
function jsonOf(body: string): string {
  return (
    body
      .match(/^data: (.*)$/gm)
      ?.at(-1)
      ?.slice("data: ".length) ?? body
  );
}

describe("the official server understands", () => {
  it.each([
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
  ] as const)("a request for %s", async (method) => {
    const outcome = await send(callOf(method, "2026-07-28"));
    expect(outcome.kind).toBe("complete");
    expect(outcome).toHaveProperty("result._meta", { "com.example/tag": "t" });
  });

  it("a discovery, whose result names it", async () => {
    expect(await send(callOf("server/discover", "2026-07-28"))).toMatchObject({
      kind: "complete",
      result: { serverInfo: info, instructions: "hello", supportedVersions: expect.arrayContaining(["2026-07-28"]) },
    });
  });

  it("who calls", async () => {
    const heard: Heard = {};
    await send(callOf("tools/call", "2026-07-28", { logLevel: "info" }), heard);
    const { roots: _, ...capabilities } = clientCapabilities;
    expect(heard.meta).toMatchObject({
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": client,
      "io.modelcontextprotocol/clientCapabilities": { ...capabilities, roots: {} },
      "io.modelcontextprotocol/logLevel": "info",
    });
  });

  it("a call that is asked something and made again", async () => {
    const ask = { params: { name: "ask" } };
    const outcome = await send(callOf("tools/call", "2026-07-28", ask));
    expect(outcome).toMatchObject({
      kind: "input-required",
      questions: { q: { method: "elicitation/create", params: { message: "Who?" } } },
      state: "s",
    });

    const heard: Heard = {};
    const q: JsonObject = codec.encodeAnswer("elicitation/create", answers["elicitation/create"]);
    const again = callOf("tools/call", "2026-07-28", { ...ask, answers: { q }, state: "s" });
    expect(await send(again, heard)).toMatchObject({ kind: "complete" });
    expect(isObject(heard.responses) && heard.responses.q).toEqual(answers["elicitation/create"]);
  });

  it("nothing of a method it does not have", async () => {
    const failed = await send(callOf("com.example/none" as "tools/list", "2026-07-28", { params: {} }));
    expect(failed).toMatchObject({ kind: "failed", failure: { code: "method-not-found" } });
  });
});
