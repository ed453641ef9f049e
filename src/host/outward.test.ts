import { describe, expect, it } from "vitest";
import { connect, dial } from "../connect/connect.ts";
import type { Failure, McpError } from "../protocol/errors.ts";
import type { Method } from "../protocol/methods.ts";
import type { CallOf, OutcomeOf, Service } from "../protocol/service.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import { createHost, type Host } from "./host.ts";
import type { HostEvent } from "./status.ts";

/** A server whose calls all end in the same way. */
function ending(outcome: { readonly failure: Failure } | { readonly result: CallToolResult }): Service {
  return async <M extends Method>({ method }: CallOf<M>): Promise<OutcomeOf<M>> => {
    const result = {
      "server/discover": {
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
        serverInfo: { name: "s", version: "1" },
      },
      "tools/list": { tools: [{ name: "a", inputSchema: { type: "object" } }] },
    }[method as string];
    if (result !== undefined) return { kind: "complete", result } as unknown as OutcomeOf<M>;
    if ("failure" in outcome) return { kind: "failed", failure: outcome.failure };
    return { kind: "complete", result: outcome.result } as OutcomeOf<M>;
  };
}

function open(outcome: Parameters<typeof ending>[0]): Host {
  return createHost({ s: { target: ending(outcome) } }, {}, { dial });
}

async function failureOf(host: Host, args: object = {}): Promise<McpError> {
  await using client = await connect(host);
  return await client.callTool("s__a", args).then(
    () => expect.unreachable(),
    (error) => error,
  );
}

const secrets = /hunter2|sk-live|eyJ|at handler|\/srv\/app|C:\\\\app|upstream\.internal/;

describe("upstream error text is masked by a served host", () => {
  it.each<Failure>([
    {
      code: "internal",
      message: "connect postgres://app:hunter2@db.upstream.internal/x failed at handler (/srv/app/x.js:1:2)",
    },
    {
      code: "http-error",
      message: "the server answered 502",
      data: { status: 502, url: "https://upstream.internal/?key=hunter2" },
    },
    {
      code: "unauthorized",
      message: 'the server answered 401: "token eyJhbGciOi.x.y is bad"',
      data: { challenge: "Bearer hunter2" },
    },
    { code: "forbidden", message: "scope db:hunter2 is missing", data: { scopes: ["db:hunter2"] } },
    { code: "invalid-response", message: "the response is not valid JSON: hunter2" },
  ])("whole, where it is about the host and its server: $code (H16)", async (failure) => {
    await using host = open({ failure });
    const heard: HostEvent[] = [];
    const over = new AbortController();
    const events = host.events(over.signal);
    const reading = (async () => {
      for await (const event of events) if (event.kind === "failed" && heard.push(event)) break;
    })();
    const error = await failureOf(host);
    expect(error).toMatchObject({
      code: "internal",
      message: expect.stringMatching(/^server s failed, id [\da-f-]{36}$/),
      data: { reason: "server-failed", server: "s", id: expect.any(String) },
    });
    expect(JSON.stringify(error)).not.toMatch(secrets);
    await reading;
    expect(heard).toEqual([
      { kind: "failed", server: "s", method: "tools/call", id: (error.data as { id: string }).id, reason: failure },
    ]);
  });

  it.each<[Failure, string]>([
    [
      { code: "invalid-params", message: "sku must be a string", data: { issues: [{ path: ["sku"] }] } },
      "sku must be a string",
    ],
    [
      { code: "invalid-params", message: "bad key sk-live-0123456789abcdef for x\n    at handler (/srv/app/x.js:1:2)" },
      "bad key *** for x",
    ],
    [{ code: "application", number: 7, message: "cannot open /srv/app/data.db now" }, "cannot open *** now"],
    [{ code: "application", number: 7, message: "cannot open C:\\app\\data.db now" }, "cannot open *** now"],
    [{ code: "application", number: 7, message: "see file:///srv/app/log.txt" }, "see ***"],
    [
      { code: "method-not-found", message: "Traceback (most recent call last):\n  File x" },
      "the server did not say why",
    ],
    [{ code: "rejected", message: "either/or, 1/2 and and/or" }, "either/or, 1/2 and and/or"],
  ])("but for what it says of the call: %j (H16)", async (failure, message) => {
    await using host = open({ failure });
    const error = await failureOf(host);
    expect(error).toMatchObject({
      code: failure.code,
      message,
      ...(failure.data !== undefined && { data: failure.data }),
      ...(failure.number !== undefined && { number: failure.number }),
    });
  });

  it("but for what the caller itself has sent (H16)", async () => {
    const message =
      "no order 6f1d0b7e-93a4-4c2b-8f55-0d9a7c1e2b34 in /home/me/orders, nor 0123456789abcdef0123456789abcdef";
    await using host = open({ failure: { code: "invalid-params", message, data: { path: "/home/me/orders" } } });
    const sent = { order: "6f1d0b7e-93a4-4c2b-8f55-0d9a7c1e2b34", path: "/home/me/orders" };
    expect(await failureOf(host, sent)).toMatchObject({
      message: "no order 6f1d0b7e-93a4-4c2b-8f55-0d9a7c1e2b34 in /home/me/orders, nor ***",
      data: { path: "/home/me/orders" },
    });
    expect(await failureOf(host)).toMatchObject({ message: "no order *** in ***, nor ***", data: { path: "***" } });
  });

  it("in the result of a tool that failed, as far as it is secret (H16)", async () => {
    const text = "cannot sign in with Bearer abc.hunter2 at /srv/data";
    await using host = open({ result: { isError: true, content: [{ type: "text", text }] } });
    await using client = await connect(host);
    expect(await client.callTool("s__a")).toEqual({
      isError: true,
      content: [{ type: "text", text: "cannot sign in with Bearer *** at /srv/data" }],
    });
    await using fine = open({ result: { content: [{ type: "text", text }] } });
    await using other = await connect(fine);
    expect(await other.callTool("s__a")).toEqual({ content: [{ type: "text", text }] });
  });

  it("not for the program that has the host", async () => {
    const failure: Failure = { code: "internal", message: "connect failed at /srv/app" };
    await using host = open({ failure });
    await expect(host.callTool("s:a")).rejects.toMatchObject(failure);
  });
});
