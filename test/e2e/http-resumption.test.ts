import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, describe, expect, it } from "vitest";
import { everythingHere, serveHttp } from "./support/built.ts";
import { createLog } from "./support/events.ts";
import type { CallOptions } from "./support/official.ts";
import { openV1 } from "./support/official-v1.ts";
import { type HttpClient, openModern, type Sent, sessionClients, watchFetch } from "./support/over-http.ts";
import { speaking } from "./support/speaking.ts";
import { layWire, noticed } from "./support/wire.ts";

// Connections that break, or that the server ends, while clients of the official
// SDK wait for something. They come back with the id of the last event they had.

const serving = await serveHttp(await everythingHere(), { port: 0, retryMs: 10 });
afterAll(() => serving.close());

const slow = { name: "slow", arguments: { ms: 400, steps: 8 } };
const done = [{ type: "text", text: "done after 400 ms" }];
const steps = (count: number) => Array.from({ length: count }, (_, index) => ({ progress: index + 1, total: count }));

const isReturn = ({ method, headers }: Sent) => method === "GET" && headers.has("last-event-id");

/** Clients that are not told when to come back, come back soon. */
const reconnectionOptions = {
  initialReconnectionDelay: 10,
  maxReconnectionDelay: 10,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 2,
};

/** The requests with which a client came back for something that it had lost. */
const returns = ({ sent }: HttpClient) => sent.items.filter(isReturn);

describe.each(sessionClients)("the official client, version $version", ({ open }) => {
  it.each([[[3]], [[1, 4, 7]]])("misses nothing of a call whose connection breaks after %j", async (cuts) => {
    await using wire = await layWire(serving.url);
    await using client = await open(wire.url);
    // Who comes back late gets the rest at once, and has to come back less often: then there is another call.
    while (returns(client).length < cuts.length) {
      const heard: object[] = [];
      const onprogress = (progress: object) => {
        heard.push(progress);
        if (cuts.includes(heard.length)) wire.cut();
      };
      const { content } = await client.session.callTool(slow, { onprogress });
      expect(content).toEqual(done);
      expect(heard).toEqual(steps(8));
      await noticed(wire);
    }
  });

  it("answers a question over a connection other than that which brought it", async () => {
    await using wire = await layWire(serving.url);
    await using client = await open(wire.url);
    let asked = 0;
    client.session.fill = async () => {
      asked++;
      wire.cut();
      await client.sent.find(isReturn);
      return { action: "accept", content: { answer: "yes" } };
    };
    expect(await client.session.call("ask", { topic: "art" })).toBe("You said: yes");
    expect(asked).toBe(1);
  });

  it("hears what changed while it was away, once", async () => {
    await using wire = await layWire(serving.url);
    await using client = await open(wire.url);
    await using other = await open(serving.url);
    const uri = "test://watched-resource";
    await client.session.client.subscribeResource({ uri });
    await other.session.call("test_trigger_resource_update");
    await client.session.changes.count(1);
    wire.cut();
    await other.session.call("bump");
    await other.session.call("test_trigger_prompt_change");
    await client.session.changes.count(3);
    await other.session.call("test_trigger_resource_update");
    await other.session.call("test_trigger_prompt_change");
    await other.session.call("bump");
    expect(await client.session.changes.count(6)).toEqual([uri, "tools", "prompts", uri, "prompts", "tools"]);
  });

  it("comes back for the result when the server hangs up", async () => {
    await using client = await open(serving.url);
    expect(await client.session.call("test_reconnection")).toBe("Reconnection test completed successfully.");
    expect(returns(client)).toMatchObject([{ status: 200, type: "text/event-stream" }]);
  });

  it("does not come back again and again for a call that it has cancelled", async () => {
    await using client = await open(serving.url);
    const abort = new AbortController();
    const options: CallOptions = { signal: abort.signal, onprogress: () => abort.abort("enough") };
    const args = { ms: 60_000, steps: 1000 };
    await expect(client.session.callTool({ name: "slow", arguments: args }, options)).rejects.toThrow("enough");
    await client.sent.find(isReturn);
    await client.session.callTool(slow);
    expect(returns(client).length).toBeLessThanOrEqual(2);
  });
});

it("a client of 2025-06-18 misses nothing either", async () => {
  await using wire = await layWire(serving.url);
  const { client, callTool } = await openV1(
    speaking("2025-06-18", new StreamableHTTPClientTransport(new URL(wire.url), { reconnectionOptions })),
  );
  const heard: object[] = [];
  const onprogress = (progress: object) => {
    if (heard.push(progress) === 3) wire.cut();
  };
  expect((await callTool(slow, { onprogress })).content).toEqual(done);
  expect(heard).toEqual(steps(8));
  await client.close();
});

it("the official client, version 1, does not come back again and again for an error that it has read", async () => {
  const { fetch, sent } = watchFetch();
  const client = new Client({ name: "official", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url), { fetch }));
  const heard = createLog<object>();
  const call = client.callTool({ name: "test_streaming_elicitation" }, undefined, { onprogress: heard.add });
  await expect(call).rejects.toMatchObject({ code: -32602 });
  expect(heard.items).toEqual([{ progress: 1, total: 2 }]);
  await sent.find(isReturn);
  await client.callTool(slow);
  expect(sent.items.filter(isReturn).length).toBeLessThanOrEqual(2);
  await client.close();
});

it("a modern client, which cannot come back, is not hung up on", async () => {
  await using client = await openModern(serving.url);
  expect(await client.session.call("test_reconnection")).toBe("Reconnection test completed successfully.");
});
