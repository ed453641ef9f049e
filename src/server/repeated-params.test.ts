import { describe, expect, it } from "vitest";
import { complete, makeCall, peer, send } from "../../test/support/direct.ts";
import type { Json } from "../json/json.ts";
import type { Outcome } from "../protocol/service.ts";
import type { HttpRequestInfo } from "../std/http-request-info.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const annotated = (annotation: Json) =>
  createServer({
    name: "shop",
    version: "1",
    tools: {
      route: tool({
        input: {
          type: "object",
          properties: { region: { type: "string", "x-mcp-header": annotation }, level: { type: "integer" } },
        },
        run: ({ region }) => `to ${region}`,
      }),
    },
  });

const http = (headers: Readonly<Record<string, string>>): HttpRequestInfo => ({
  method: "POST",
  url: "/mcp",
  header: (name) => headers[name],
});

describe("arguments that headers repeat", () => {
  const server = annotated("Region");
  const route = (args: { readonly [name: string]: Json }, headers?: Readonly<Record<string, string>>) =>
    send(server, "tools/call", { name: "route", arguments: args }, headers && { http: http(headers) });

  it.each<[string, Json, Readonly<Record<string, string>>]>([
    ["the same", "eu", { "mcp-param-region": "eu" }],
    ["the same, encoded", "Hello", { "mcp-param-region": "=?base64?SGVsbG8=?=" }],
    ["null, and none", null, {}],
  ])("pass when they are %s", async (_what, region, headers) => {
    expect(await route(region === null ? {} : { region }, headers)).toMatchObject({ kind: "complete" });
  });

  it.each<[string, Json, Readonly<Record<string, string>>]>([
    ["another one", "eu", { "mcp-param-region": "us" }],
    ["missing", "eu", {}],
    ["badly encoded", "Hello", { "mcp-param-region": "=?base64?SGVsbG8?=" }],
  ])("fail the call when the header is %s, and the tool does not run", async (_what, region, headers) => {
    expect(await route({ region }, headers)).toMatchObject({
      kind: "failed",
      failure: { code: "header-mismatch", message: expect.stringContaining("mcp-param-region") },
    });
  });

  it("matter over HTTP only, and only to clients that know of them", async () => {
    expect(await route({ region: "eu" })).toMatchObject({ kind: "complete" });
    const { call } = makeCall(
      "tools/call",
      { name: "route", arguments: { region: "eu" } },
      { http: http({}), peer: { ...peer(), revision: "2025-11-25" } },
    );
    expect((await server(call)) satisfies Outcome).toMatchObject({ kind: "complete" });
  });

  it("are shown in the list as they were defined", async () => {
    const { tools } = await complete(server, "tools/list", {});
    expect(tools[0]?.inputSchema).toMatchObject({ properties: { region: { "x-mcp-header": "Region" } } });
  });

  it("keep the server from starting when the annotation is bad, and the error names the tool", async () => {
    expect(await send(annotated("no token"), "server/discover", {})).toMatchObject({
      kind: "failed",
      failure: { code: "invalid-definition", message: expect.stringMatching(/^tool route: input .*region/) },
    });
  });
});
