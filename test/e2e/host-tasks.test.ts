import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client, ConnectOptions } from "../../src/connect/index.ts";
import type { Host } from "../../src/host/index.ts";
import type { HttpServeHandle } from "../../src/transport/node/serve-http.ts";
import { script as child, until } from "../fixtures/children/processes.ts";
import { connect, openHost, serveHttp } from "./support/built.ts";

// Tasks of a program, through a host behind HTTP, for clients that know tasks and for clients that do not.

const fromClient = () => ({ action: "accept", content: { name: "the client" } }) as const;
const fromHost = () => ({ action: "accept", content: { name: "the host" } }) as const;

const clients: Readonly<Record<string, ConnectOptions>> = {
  "2026-07-28 with tasks": { revision: "2026-07-28" },
  "2026-07-28 without tasks": { revision: "2026-07-28", tasks: false },
  "2025-11-25 with tasks": { revision: "2025-11-25" },
  "2025-11-25 without tasks": { revision: "2025-11-25", tasks: false },
  "2025-06-18": { revision: "2025-06-18" },
};

describe.each(["2026-07-28", "2025-11-25"] as const)("tasks of a server of %s", (spoken) => {
  let said = "";
  let host: Host;
  let served: HttpServeHandle;

  beforeAll(async () => {
    const stderr = (text: string): void => {
      said += text;
    };
    const target = { ...child("tasks-server.mjs"), stderr };
    host = await openHost(
      { t: { target, connectOptions: { revision: spoken } } },
      { listTimeoutMs: 0, resultLimits: { maxChars: 1_000 }, onElicit: fromHost },
    );
    await host.settled();
    served = await serveHttp(host, { port: 0 });
  });

  afterAll(async () => {
    await served.close();
    await host.close();
  });

  describe.each(Object.entries(clients))("for a client of %s", (name, options) => {
    const follows = name === "2026-07-28 with tasks" || (name === "2025-11-25 with tasks" && spoken === "2025-11-25");
    const open = (): Promise<Client> => connect(served.url, { ...options, onElicit: fromClient });
    const textOf = async (call: Promise<{ readonly content: readonly unknown[] }>) =>
      ((await call).content[0] as { readonly text: string }).text;

    it("are waited for, and their results arrive (X6)", async () => {
      await using client = await open();
      expect(await textOf(client.callTool("t__plain"))).toBe("at once");
      expect(await textOf(client.callTool("t__needed"))).toBe("done");
      expect(await client.callTool("t__fails")).toMatchObject({ isError: true, content: [{ text: "sold out" }] });
    });

    it("ask the client, or the host where the server asks its own client (X6)", async () => {
      await using client = await open();
      expect(await textOf(client.callTool("t__asks"))).toBe(
        spoken === "2026-07-28" ? "Hello the client" : "Hello the host",
      );
    });

    it("are cancelled with the call (X6)", async () => {
      await using client = await open();
      said = "";
      const abort = new AbortController();
      let isKnown = false;
      const onTask = () => {
        isKnown = true;
      };
      const failed = expect(client.callTool("t__hangs", {}, { signal: abort.signal, onTask })).rejects.toMatchObject({
        code: "cancelled",
      });
      // A client that follows the task itself has to know it.
      await until(() => said.includes("begun") && (isKnown || !follows));
      abort.abort();
      await failed;
      await until(() => said.includes("cancelled"));
    });

    it("have results within the limits of the host (X3, X6)", async () => {
      await using client = await open();
      const { content } = await client.callTool("t__large");
      expect(JSON.stringify(content)).toContain("cut: 2000 characters");
    });
  });

  it("are handed on to a client of 2026-07-28 that follows them (X6)", async () => {
    await using client = await connect(served.url, { revision: "2026-07-28" });
    const handle = await client.tasks.start("t__needed");
    expect(handle.id).not.toContain("t:");
    const { content } = await handle.result();
    expect(content).toEqual([{ type: "text", text: "done" }]);
    expect(await handle.status()).toMatchObject({ status: "completed" });
    await handle.cancel();
    said = "";
    const hanging = await client.tasks.start("t__hangs");
    await until(() => said.includes("begun"));
    expect(await hanging.status()).toMatchObject({ status: "working" });
    await hanging.cancel();
    await until(() => said.includes("cancelled"));
    expect(await hanging.status()).toMatchObject({ status: "cancelled" });
    const resumed = await client.tasks.resume(handle.id ?? "");
    expect((await resumed.result()).content).toEqual([{ type: "text", text: "done" }]);
    await expect(client.tasks.resume("t:0000000000000000")).rejects.toMatchObject({ code: "invalid-params" });
  });

  it("are handed on to a client of 2025-11-25 where the server lists that it can (X6)", async () => {
    await using client = await connect(served.url, { revision: "2025-11-25" });
    const handle = await client.tasks.start("t__needed");
    expect(handle.id === undefined).toBe(spoken === "2026-07-28");
    expect((await handle.result()).content).toEqual([{ type: "text", text: "done" }]);
    const post = async (message: object, session?: string) =>
      fetch(served.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(session !== undefined && { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" }),
        },
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    const greeted = await post({ id: 1, method: "initialize", params });
    const session = greeted.headers.get("mcp-session-id") ?? "";
    await greeted.text();
    await post({ method: "notifications/initialized" }, session);
    const refused = await post({ id: 2, method: "tools/call", params: { name: "t__plain", task: {} } }, session);
    expect(await refused.text()).toContain("tool plain cannot be run as a task");
  });

  it("ask through two hosts (X6)", async () => {
    await using outer = await openHost({ h: served.url }, { listTimeoutMs: 0 });
    await using gateway = await serveHttp(outer, { port: 0 });
    await using client = await connect(gateway.url, { revision: "2026-07-28", tasks: false, onElicit: fromClient });
    const { content } = await client.callTool("h__t__asks");
    expect(content).toEqual([{ type: "text", text: spoken === "2026-07-28" ? "Hello the client" : "Hello the host" }]);
  });

  it("are waited for by the host itself (X6)", async () => {
    expect((await host.callTool("t:needed")).content).toEqual([{ type: "text", text: "done" }]);
  });
});
