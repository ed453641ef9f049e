import { fileURLToPath } from "node:url";
import { Client as OfficialClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitationCompleteNotificationSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, describe, expect, it } from "vitest";
import { type ConnectOptions, connect } from "../../src/connect/index.ts";
import type { Target } from "../../src/connect/target.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { serveHttp } from "../../src/transport/node/serve-http.ts";
import { createNoticesServer } from "../fixtures/children/notices-server.ts";
import { createLog } from "./support/events.ts";

// Pages that users are sent to by a server of 2025-11-25, and how their clients learn that they are done there.

const path = fileURLToPath(new URL("../fixtures/children/notices-server.ts", import.meta.url));
const command = { command: process.execPath, args: ["--import", import.meta.resolve("tsx"), path] };
const store = memoryStore();
const own = await serveHttp(createNoticesServer(), { port: 0, sse: true });
const shared = await serveHttp(createNoticesServer(store), { port: 0 });
/** Another process of the same server, as far as it can tell. */
const elsewhere = await serveHttp(createNoticesServer(store), { port: 0 });
afterAll(() => Promise.all([own.close(), shared.close(), elsewhere.close()]));

const ways: readonly { readonly name: string; readonly target: Target; readonly other?: string }[] = [
  { name: "stdio", target: command },
  { name: "HTTP, sessions in memory", target: own.url, other: own.url },
  { name: "HTTP, sessions in a store", target: shared.url, other: elsewhere.url },
  { name: "HTTP+SSE", target: { type: "sse", url: own.url.replace("/mcp", "/sse") }, other: own.url },
];

let tokens = 0;
const newToken = (): string => `page ${++tokens}`;

/** A user who opens every page, and what is heard of that. */
function visitor() {
  const visits = createLog<Promise<boolean> | undefined>();
  const options: ConnectOptions = {
    revision: "2025-11-25",
    onElicitUrl({ completed }) {
      visits.add(completed);
      return { action: "accept" };
    },
  };
  const visit = async (): Promise<boolean | undefined> => (await visits.count(1))[0];
  return { options, visit };
}

describe.each(ways)("a page that a user was sent to over $name", ({ target, other }) => {
  it("is completed by the call that sent them (F144)", async () => {
    const { options, visit } = visitor();
    await using client = await connect(target, options);
    await client.callTool("visit", { token: newToken() });
    expect(await visit()).toBe(true);
  });

  it("is completed when the call is over, by whichever process (F144)", async () => {
    const { options, visit } = visitor();
    await using client = await connect(target, options);
    await using caller = other === undefined ? undefined : await connect(other);
    const token = newToken();
    await client.callTool("later", { token });
    await (caller ?? client).callTool("callback", { token: "a page of somebody else" });
    await (caller ?? client).callTool("callback", { token });
    expect(await visit()).toBe(true);
  });

  it("is not waited for any longer than the connection lasts (F144)", async () => {
    const { options, visit } = visitor();
    const client = await connect(target, options);
    await client.callTool("later", { token: newToken() });
    await client.close();
    expect(await visit()).toBe(false);
  });
});

describe("a page that a user was sent to", () => {
  it.each([own.url, shared.url])(
    "is completed for the official client, version 1, and for no other (F144)",
    async (url) => {
      const open = async () => {
        const capabilities = { elicitation: { url: {} } };
        const client = new OfficialClient({ name: "official", version: "1" }, { capabilities });
        const completed = createLog<string>();
        client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" }));
        client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) =>
          completed.add(params.elicitationId),
        );
        await client.connect(new StreamableHTTPClientTransport(new URL(url)));
        const call = (name: string, token: string) => client.callTool({ name, arguments: { token } });
        return { client, completed, call };
      };
      const [one, two] = await Promise.all([open(), open()]);
      const [first, second, third] = [newToken(), newToken(), newToken()];
      await one.call("later", first);
      await two.call("later", second);
      await expect(two.call("before", third)).rejects.toMatchObject({ code: -32042 });
      for (const token of [first, first, second, third]) await one.call("callback", token);
      await one.completed.find((id) => id === first);
      await two.completed.count(2);
      expect([one.completed.items, two.completed.items]).toEqual([[first], [second, third]]);
      await Promise.all([one.client.close(), two.client.close()]);
    },
  );

  it("has no end that a client of 2026-07-28 hears of (F144)", async () => {
    const { options, visit } = visitor();
    await using client = await connect(shared.url, { ...options, revision: "2026-07-28" });
    await client.callTool("visit", { token: newToken() });
    expect(await visit()).toBeUndefined();
  });
});
