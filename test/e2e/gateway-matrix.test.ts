import { StreamableHTTPClientTransport as V2Transport } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as V1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway/index.ts";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { bearer, createMetrics, openGateway, serveHttp } from "./support/built.ts";
import { createLog } from "./support/events.ts";
import { type Official, type OfficialClient, sampled, sessionFor } from "./support/official.ts";
import { openV1 } from "./support/official-v1.ts";
import { openV2 } from "./support/official-v2.ts";
import { script } from "./support/places.ts";
import { type Serving, serve } from "./support/serving.ts";

// Every era in front of a gateway against every era behind it, with programs of the official SDK at both ends.

let v1: Serving;
let v2: Serving;
let gateway: Gateway;
let served: HttpServeHandle;

beforeAll(async () => {
  [v1, v2] = await Promise.all([
    serve(script("test/fixtures/official-v1-server.mjs")),
    serve(script("test/fixtures/official-v2-server.mjs", "--port", "0")),
  ]);
  const servers = {
    v1: `${v1.url}/mcp`,
    v1stdio: script("test/fixtures/official-v1-stdio-server.mjs"),
    v2: `${v2.url}/mcp`,
    v2sessions: `${v2.url}/sessions`,
  };
  gateway = await openGateway(servers, { telemetry: createMetrics() });
  served = await serveHttp(gateway, { port: 0, auth: bearer((token) => ({ principal: token })) });
  await gateway.settled();
});

afterAll(async () => {
  await served.close();
  await gateway.close();
});

const signedIn = { requestInit: { headers: { authorization: "Bearer ann" } } };

/** A client, and what it says in the words of its era. */
interface Front extends Official {
  /** Hears of changes of lists and of a resource. Resolves with what ends that. */
  listen(uri: string): Promise<() => Promise<unknown>>;
  /** What a call has to carry for its log messages to be heard. */
  readonly logging: object;
}

async function openLegacy(opening: Promise<Official>): Promise<Front> {
  const session = await opening;
  const { client } = session;
  await client.setLoggingLevel("debug");
  const listen = async (uri: string) => {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
  };
  return Object.assign(session, { listen, logging: {} });
}

async function openModern(): Promise<Front> {
  const session = await openV2(new V2Transport(new URL(served.url), signedIn), "auto");
  const listen = async (uri: string) => {
    const subscription = await session.client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    return () => subscription.close();
  };
  return Object.assign(session, { listen, logging: { "io.modelcontextprotocol/logLevel": "debug" } });
}

const fronts: readonly { readonly front: string; open(): Promise<Front> }[] = [
  { front: "v1", open: () => openLegacy(openV1(new V1Transport(new URL(served.url), signedIn) as never)) },
  { front: "v2, 2025-11-25", open: () => openLegacy(openV2(new V2Transport(new URL(served.url), signedIn), "legacy")) },
  { front: "v2, 2026-07-28", open: openModern },
];

const backs = ["v1", "v1stdio", "v2", "v2sessions"];

describe.each(fronts)("a client of $front", ({ open }) => {
  const current = sessionFor(open);

  describe.each(backs)("by the gateway at %s", (back) => {
    const call = (tool: string, args?: Record<string, unknown>): Promise<string> =>
      current().call(`${back}__${tool}`, args);

    it("is asked a form", async () => {
      const session = current();
      session.fill = ({ message }) => ({ action: "accept", content: { name: `the reader of "${message}"` } });
      expect(await call("greet")).toBe('Hello, the reader of "Who are you?"!');
      session.fill = () => ({ action: "decline" });
      expect(await call("greet")).toBe("You said decline.");
    });

    it("is asked one thing after the other", async () => {
      const session = current();
      session.fill = ({ message }) => ({
        action: "accept",
        content: message.startsWith("Who") ? { name: "Ada" } : { color: "blue" },
      });
      expect(await call("paint")).toBe("Ada likes blue.");
    });

    it("is asked for a sample and for its roots", async () => {
      current().sample = () => sampled("A thought");
      expect(await call("think")).toBe("A thought in file:///home");
    });

    it("hears of progress", async () => {
      const heard: unknown[] = [];
      const onprogress = (progress: unknown) => heard.push(progress);
      await current().callTool({ name: `${back}__slow`, arguments: { steps: 3 } }, { onprogress });
      expect(heard).toEqual([1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })));
    });

    it("cancels a call", async () => {
      const abort = new AbortController();
      const heard = createLog<object>();
      const options = { signal: abort.signal, onprogress: heard.add };
      const slow = current().callTool({ name: `${back}__slow`, arguments: { steps: 100_000 } }, options);
      slow.catch(() => {});
      await heard.count(1);
      abort.abort("enough");
      await expect(slow).rejects.toThrow("enough");
      while ((await call("running")) !== "0");
    });

    it("gets structured output", async () => {
      const result = await current().callTool({ name: `${back}__add`, arguments: { a: 1, b: 2 } });
      expect(result).toMatchObject({ structuredContent: { sum: 3 }, content: [{ type: "text", text: "3" }] });
    });

    it("gets the error of a tool", async () => {
      expect(await current().callTool({ name: `${back}__fail` })).toMatchObject({ isError: true });
    });

    it("hears log messages", async () => {
      const { logged, logging } = current();
      const before = logged.items.length;
      const heard = () => logged.items.slice(before).map(({ level, data }) => ({ level, data }));
      // Version 1 sends them beside the call: they may come when it is over, and then belong to none.
      const messages = async () => {
        await current().callTool({ name: `${back}__log`, arguments: {}, _meta: logging } as never);
        return heard();
      };
      await expect.poll(messages, { timeout: 30_000 }).toContainEqual({ level: "warning", data: { careful: true } });
      await expect.poll(messages, { timeout: 30_000 }).toContainEqual({ level: "debug", data: "a detail" });
    });

    it("hears of changes of lists and resources", async () => {
      const { changes, client, listen } = current();
      const uri = await watchedOf(client, back);
      const leave = await listen(uri);
      const before = changes.items.length;
      expect(await call("toggle")).toBe("added");
      await call("touch");
      await changes.find((change) => change === uri && changes.items.slice(before).includes("tools"));
      expect(await toolNames(client)).toContain(`${back}__extra`);
      expect(await call("extra")).toBe("I am here.");
      expect(await call("toggle")).toBe("removed");
      await leave();
    });

    it("reads a resource", async () => {
      const uri = await watchedOf(current().client, back);
      const { contents } = await current().client.readResource({ uri });
      expect(contents).toMatchObject([{ uri, text: "watched words" }]);
    });

    it("has arguments completed", async () => {
      const ref = { type: "ref/prompt", name: `${back}__talk` } as const;
      const { completion } = await current().client.complete({ ref, argument: { name: "topic", value: "w" } });
      expect(completion.values).toEqual(["weather", "wine"]);
    });
  });
});

/** The URI of the resource of a server that changes: servers that use the same one are told apart by the gateway. */
async function watchedOf(client: OfficialClient, server: string): Promise<string> {
  const { resources } = await client.listResources();
  const uris = resources.map(({ uri }) => uri).filter((uri) => decodeURIComponent(uri).endsWith("official://watched"));
  const uri = uris.find((candidate) => candidate.startsWith(`plugbay-resource://${server}/`)) ?? uris[0];
  if (uri === undefined) throw new Error("no server lists the resource");
  return uri;
}

async function toolNames(client: OfficialClient): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}
