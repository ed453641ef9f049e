import { Client, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/json/json.ts";
import { encodeMessage, type Message, parseText, type Request } from "../../src/jsonrpc/message.ts";
import type { WireMethod } from "../../src/protocol/methods.ts";
import type { OutcomeOf } from "../../src/protocol/service.ts";
import { codecFor } from "../support/codecs.ts";
import { answers, plainQuestions, richQuestions } from "./example-questions.ts";
import { params, results, server } from "./examples.ts";

// The official client of version 2 checks every result of 2026-07-28 with its
// own schemas. It talks to our codec here, and gets a rich example of each.

const codec = codecFor("2026-07-28");

type Answering = <M extends WireMethod>(method: M, request: JsonObject) => OutcomeOf<M>;

/** A transport whose far end is our codec. */
function toCodec(answer: Answering, before: (send: (message: Message) => void, request: Request) => void): Transport {
  const transport: Transport = {
    async start() {},
    async close() {
      transport.onclose?.();
    },
    async send(message) {
      const request = parseText(JSON.stringify(message));
      if (request.kind !== "request") return;
      before(deliver, request);
      await new Promise(setImmediate);
      deliver(respond(request, answer));
    },
  };
  function deliver(message: Message): void {
    transport.onmessage?.(JSON.parse(encodeMessage(message)) as JSONRPCMessage);
  }
  return transport;
}

function respond(request: Request, answer: Answering): Message {
  const { id } = request;
  const decoded = codec.decodeCall(request);
  if (!decoded.ok) return { kind: "failure", id, error: codec.encodeFailure(decoded.failure) };
  const method = decoded.value.method as WireMethod;
  const encoded = codec.encodeOutcome(method, answer(method, request.params), server);
  if (!encoded.ok) return { kind: "failure", id, error: codec.encodeFailure(encoded.failure) };
  return { kind: "success", id, result: encoded.value };
}

/** Every list is one page, so that a client that reads them all comes to an end. */
function example<M extends WireMethod>(method: M): OutcomeOf<M> {
  const { nextCursor: _, ...result } = { nextCursor: undefined, ...results[method] };
  return { kind: "complete", result: result as (typeof results)[M] };
}

async function connected(answer: Answering = example, before: Parameters<typeof toCodec>[1] = () => undefined) {
  const client = new Client(
    { name: "official", version: "2" },
    {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
      capabilities: { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} },
    },
  );
  await client.connect(toCodec(answer, before));
  return client;
}

describe("the official client understands", () => {
  it("a discovery", async () => {
    const client = await connected();
    expect(client.getServerVersion()).toEqual(server);
    expect(client.getInstructions()).toBe("Be nice");
    expect(client.getServerCapabilities()).toMatchObject({ completions: {}, tools: { listChanged: true } });
  });

  it("lists", async () => {
    const client = await connected();
    const tools = results["tools/list"].tools.map(({ execution: _, ...tool }) => tool);
    expect((await client.listTools()).tools).toEqual(tools);
    expect((await client.listResources()).resources).toEqual(results["resources/list"].resources);
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: "upsell", arguments: [{ name: "sku" }] }]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates).toEqual(results["resources/templates/list"].resourceTemplates);
  });

  it("what calls return", async () => {
    const client = await connected();
    const { structuredContent } = results["tools/call"];
    expect(await client.callTool(official("tools/call"))).toMatchObject({ structuredContent });
    expect((await client.readResource(official("resources/read"))).contents).toEqual(
      results["resources/read"].contents,
    );
    expect((await client.getPrompt(official("prompts/get"))).messages).toEqual(results["prompts/get"].messages);
    const { completion } = results["completion/complete"];
    expect((await client.complete(official("completion/complete"))).completion).toEqual(completion);
  });

  it("progress", async () => {
    const heard: unknown[] = [];
    const client = await connected(example, (send, request) => {
      const decoded = codec.decodeCall(request);
      if (!decoded.ok || decoded.value.method !== "tools/call") return;
      const method = "notifications/progress";
      const { progressToken } = decoded.value;
      const said = codec.encodeNotification(method, { progress: 1, total: 2, message: "half" }, { progressToken });
      if (said !== undefined) send({ kind: "notification", method, params: said });
    });
    await client.callTool(official("tools/call"), { onprogress: (progress) => heard.push(progress) });
    expect(heard).toEqual([{ progress: 1, total: 2, message: "half" }]);
  });

  it.each([...plainQuestions, ...richQuestions])("a question, $method, and answers it", async (question) => {
    const seen: JsonObject[] = [];
    const client = await connected((method, request) => {
      if (method !== "tools/call" || request.inputResponses !== undefined) {
        if (method === "tools/call") seen.push(request);
        return example(method);
      }
      return { kind: "input-required", questions: { q: question }, state: "s" };
    });
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "a" } }));
    client.setRequestHandler("sampling/createMessage", () => answers["sampling/createMessage"] as never);
    client.setRequestHandler("roots/list", () => answers["roots/list"] as never);

    await client.callTool(official("tools/call"));
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ inputResponses: { q: expect.any(Object) }, requestState: "s" });
  });

  it("a failure", async () => {
    const failure = {
      code: "missing-capability",
      message: "no",
      data: { requiredCapabilities: { roots: {} } },
    } as const;
    const client = await connected((method) =>
      method === "tools/call" ? { kind: "failed", failure } : example(method),
    );
    await expect(client.callTool(official("tools/call"))).rejects.toMatchObject({ code: -32021, data: failure.data });
  });
});

/** Params for the official methods, whose types differ in being mutable. */
function official(method: WireMethod): never {
  return structuredClone(params[method]) as never;
}
