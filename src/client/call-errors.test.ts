import { describe, expect, it } from "vitest";
import { connect } from "../connect/index.ts";
import type { Failure } from "../protocol/errors.ts";
import { callText, failed } from "./call-errors.ts";

const server = { supportedVersions: [], capabilities: {}, serverInfo: { name: "shop", version: "1" } };

describe("callText", () => {
  it.each([
    ["tools/call", { name: "buy", arguments: { token: "secret" } }, 'tools/call "buy" on server "shop"'],
    ["prompts/get", { name: "greet" }, 'prompts/get "greet" on server "shop"'],
    ["resources/read", { uri: "db://x/y?token=secret#part" }, 'resources/read "db://x/y" on server "shop"'],
    ["tools/list", { cursor: "secret" }, 'tools/list on server "shop"'],
    ["tasks/get", { taskId: "secret" }, 'tasks/get on server "shop"'],
    ["tools/call", { name: 5 }, 'tools/call on server "shop"'],
    ["tools/call", { name: `a\u0000\n${"b".repeat(200)}` }, `tools/call "a${"b".repeat(97)}…" on server "shop"`],
  ])("names what %s %j calls, and no secret (X14)", (method, params, text) => {
    expect(callText(method, params, server)).toBe(text);
  });
});

describe("failed", () => {
  it.each<Failure>([
    { code: "invalid-response", message: "m" },
    { code: "connection-closed", message: "m", data: { exitCode: 1 } },
    { code: "http-error", message: "m", data: { status: 503 } },
    { code: "limit-reached", message: "m", data: { status: 429 } },
  ])("names the call where the client found out: %j (X14)", (failure) => {
    expect(failed("tools/list", failure)).toMatchObject({ ...failure, message: "tools/list failed: m" });
  });

  it.each<Failure>([
    { code: "internal", message: "m" },
    { code: "application", message: "m", number: 7 },
    { code: "limit-reached", message: "m", data: { reason: "limit-reached" } },
  ])("passes on what a server says: %j (X14)", (failure) => {
    expect(failed("tools/list", failure)).toMatchObject({ ...failure });
  });
});

it("connecting to a URL of nothing says what to look at, and no secret (X14)", async () => {
  const fetch = async () => new Response("no such page", { status: 404 });
  await expect(connect("http://x.example/mcp?token=secret", { fetch })).rejects.toMatchObject({
    code: "http-error",
    message: expect.stringMatching(
      /^cannot connect to http:\/\/x\.example: the server answered 404 Not Found; .*; check the path of the URL$/,
    ),
  });
});
