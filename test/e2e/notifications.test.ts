import { fileURLToPath } from "node:url";
import { StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, describe, expect, it } from "vitest";
import { type Client, type ConnectOptions, connect } from "../../src/connect/index.ts";
import { openHost } from "../../src/host/index.ts";
import type { JsonObject } from "../../src/json/json.ts";
import { isLegacy, type Revision } from "../../src/protocol/revision.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { testMatrix } from "../../src/testing/matrix.ts";
import { serveHttp } from "../../src/transport/node/serve-http.ts";
import { createNoticesServer } from "../fixtures/children/notices-server.ts";
import { createLog } from "./support/events.ts";
import { openV1 } from "./support/official-v1.ts";
import { openV2 } from "./support/official-v2.ts";

// Notifications that the protocol does not define, and changes of roots, over every transport and revision.

interface Way {
  readonly name: string;
  readonly revision: Revision;
  connect(options?: ConnectOptions): Promise<Client>;
}

const path = fileURLToPath(new URL("../fixtures/children/notices-server.ts", import.meta.url));
const command = { command: process.execPath, args: ["--import", import.meta.resolve("tsx"), path] };
const server = createNoticesServer();
const shared = await serveHttp(createNoticesServer(memoryStore()), { port: 0 });
const alone = await serveHttp(createNoticesServer(), { port: 0, sessions: false });
const older = await serveHttp(createNoticesServer(), { port: 0, sse: true });
afterAll(() => Promise.all([shared.close(), alone.close(), older.close()]));

const revision = "2025-11-25";
const inStore: Way = {
  name: "http, sessions in a store, 2025-11-25",
  revision,
  connect: (options) => connect(shared.url, { ...options, revision }),
};
const overSse: Way = {
  name: "HTTP+SSE, 2025-11-25",
  revision,
  connect: (options) => connect({ type: "sse", url: older.url.replace("/mcp", "/sse") }, { ...options, revision }),
};
const ways: readonly Way[] = [
  ...testMatrix({ server, command, revisions: ["2026-07-28", "2025-11-25", "2024-11-05"] }),
  inStore,
  overSse,
];

let tokens = 0;
const newToken = (): string => `t${++tokens}`;

interface Heard {
  readonly method: string;
  readonly params: JsonObject;
}

describe.each(ways)("notifications of vendors, $name", ({ connect, revision }) => {
  it("reach a client while it calls (I6)", async () => {
    const heard = createLog<Heard>();
    await using client = await connect({ onNotification: heard.add });
    const token = newToken();
    await client.callTool("say", { token });
    expect(await heard.find(({ params }) => params.token === token)).toMatchObject({ method: "acme/said" });
  });

  it("reach a server, with who sent them (I6)", async () => {
    await using client = await connect({ info: { name: "teller", version: "1" } });
    const token = newToken();
    client.notify("acme/changed", { token });
    const { content } = await client.callTool("heard", { token });
    expect(JSON.parse("text" in (content[0] ?? {}) ? (content[0] as { text: string }).text : "")).toEqual({
      method: "acme/changed",
      token,
      revision,
      client: "teller",
    });
  });
});

describe.each(ways.filter(({ revision }) => isLegacy(revision)))(
  "roots of a client, $name",
  ({ connect, revision }) => {
    it("are asked for again when they have changed (F148)", async () => {
      await using client = await connect({ roots: [{ uri: "file:///old" }] });
      const token = newToken();
      client.setRoots([{ uri: `file:///${token}` }]);
      const { content } = await client.callTool("roots", { token });
      expect(content).toMatchObject([{ text: JSON.stringify({ roots: [`file:///${token}`], revision }) }]);
    });
  },
);

describe("notifications of vendors", () => {
  it("are none that the protocol defines (I6)", async () => {
    await using client = await connect(server);
    const message = /notify cannot send notifications\/roots\/list_changed.*setRoots/;
    expect(() => client.notify("notifications/roots/list_changed")).toThrow(message);
    await expect(client.callTool("misuse")).resolves.toMatchObject({ isError: true });
  });

  it("reach a server without sessions (I6)", async () => {
    for (const revision of ["2025-11-25", "2026-07-28"] as const) {
      await using client = await connect(alone.url, { revision });
      const token = newToken();
      client.notify("acme/changed", { token });
      const { content } = await client.callTool("heard", { token });
      expect(content).toMatchObject([{ text: expect.stringContaining(revision) }]);
    }
  });

  it("are answered in a session as they are in a call (I6)", async () => {
    const heard = createLog<Heard>();
    await using client = await connect(shared.url, { revision: "2025-11-25", onNotification: heard.add });
    const token = newToken();
    client.notify("acme/changed", { token });
    expect(await heard.find(({ params }) => params.token === token)).toMatchObject({ method: "acme/heard" });
  });

  it("pass a host that is served, while a call is open (I6)", async () => {
    const heard = createLog<Heard>();
    await using host = await openHost({ notices: { target: shared.url } });
    await using serving = await serveHttp(host, { port: 0 });
    await using client = await connect(serving.url, { onNotification: heard.add });
    const token = newToken();
    await client.callTool("notices:say", { token });
    expect(await heard.find(({ params }) => params.token === token)).toMatchObject({ method: "acme/said" });
  });

  it("of the official clients reach a server (I6)", async () => {
    const one = await openV1(new TransportV1(new URL(shared.url)));
    const [first, second] = [newToken(), newToken()];
    await one.client.notification({ method: "acme/changed", params: { token: first } } as never);
    expect(await one.call("heard", { token: first })).toContain(first);
    await one.client.close();
    const two = await openV2(new TransportV2(new URL(shared.url)), { pin: "2026-07-28" });
    await two.client.notification({ method: "acme/changed", params: { token: second } });
    expect(await two.call("heard", { token: second })).toContain(second);
    await two.client.close();
  });
});
