import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { McpError } from "../protocol/errors.ts";
import { createLock } from "./approve.ts";
import { formatLock } from "./format-lock.ts";
import { maxLockChars, parseLock } from "./parse-lock.ts";

const whole = formatLock(
  await createLock([
    {
      name: "shop",
      target: { command: "npx" },
      revision: "2026-07-28",
      info: { name: "shop", version: "1" },
      instructions: "Be polite.",
      scopes: ["a"],
      tools: [
        { name: "buy", description: "Buy something", inputSchema: { type: "object" } },
        { name: "sell", inputSchema: { type: "object" } },
      ],
      prompts: [{ name: "upsell" }],
      resources: [{ name: "a", uri: "a:" }],
    },
  ]),
);

async function refusal(text: string): Promise<string> {
  const error = await parseLock(text, "plugbay.lock").then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(McpError);
  expect(error).toMatchObject({ code: "invalid-config" });
  return error instanceof McpError ? error.message : "";
}

describe("parseLock", () => {
  it("reads a file without servers, and one with other blanks", async () => {
    expect(await parseLock('{"lockVersion":2,"servers":{}}', "x")).toEqual({ lockVersion: 2, servers: {} });
    expect(await parseLock(JSON.stringify(JSON.parse(whole)), "x")).toEqual(await parseLock(whole, "x"));
    expect(await parseLock(whole.replaceAll("\n", "\r\n"), "x")).toEqual(await parseLock(whole, "x"));
  });

  it.each([
    ["", "plugbay.lock:1:1: not valid JSON"],
    ["[]", "plugbay.lock:1:1: this is not a lock file: it must be an object"],
    ["{}", "plugbay.lock: lockVersion must be 2"],
    ['{"lockVersion":"2"}', "plugbay.lock:1:2: lockVersion must be 2"],
    ['{"lockVersion":1}', "plugbay.lock:1:2: lockVersion 1 is of an older plugbay, which kept neither"],
    ['{"lockVersion":1}', "Approve the servers again: writeLock(path, await createLock(await host.survey()))"],
    [
      '{\n"lockVersion":3,"servers":[]}',
      "plugbay.lock:2:1: lockVersion 3 is of a newer plugbay: update this one to read the file",
    ],
    ['{"lockVersion":2,"servers":[]}', "plugbay.lock:1:18: servers must be an object"],
    [`{"lockVersion":2,"x":${"[".repeat(200)}${"]".repeat(200)}}`, "nested deeper than 100 levels"],
  ])("refuses %j", async (text, message) => {
    expect(await refusal(text)).toContain(message);
  });

  it.each<[string, string, string]>([
    ['"servers": {', '"servers": {{', ":3:15: not valid JSON"],
    ['"command": "npx"', '"program": "npx"', ":20:7: servers.shop.target must be an object with command or url"],
    ['"2026-07-28"', '"2030-01-01"', ":16:7: servers.shop.revision must be one of 2024-11-05"],
    ['"version": "1"', '"version": 1', ":7:9: servers.shop.info.version must be a text"],
    ['"scopes": [\n        "a"', '"scopes": [\n        null', ":18:9: servers.shop.scopes.0 must be a text"],
    ['"scopes"', '"scope"', "servers.shop.scopes must be a list"],
    ['{"name":"upsell"}', '"upsell"', ":11:9: servers.shop.prompts.0 must be an object"],
    ['"name": "sell"', '"name": "Sell"', ':37:13: servers.shop.tools.sell.definition.name must be "sell"'],
    [
      '"inputSchema": {"type":"object"}',
      '"inputSchema": true',
      "servers.shop.tools.buy.definition.inputSchema must be an object",
    ],
    ["sha256-", "md5-", 'must be "sha256-" and 43 characters'],
    [
      "Buy something",
      "Buy anything",
      ":26:9: servers.shop.tools.buy does not match its fingerprint: the file was edited by hand. Approve the tool again",
    ],
    ['"sell": {', '"buy": {', "buy"],
    ['"command": "npx"', '"command": "npx",\n        "command": "evil"', ':22:9: "command" is there twice'],
    ['      "target"', '<<<<<<< ours\n      "target"', ":20:1: there is a merge conflict"],
  ])("with %j as %j it is refused at its place", async (from, to, message) => {
    expect(whole).toContain(from);
    expect(await refusal(whole.replace(from, to))).toContain(message);
  });

  it("sees a tool that is there twice, though the last one is right", async () => {
    const [, sell = ""] = /("sell": \{[\s\S]*?\n {8}\})/.exec(whole) ?? [];
    const other = sell.replace('{"type":"object"}', '{"type":"object","description":"what a reader sees"}');
    expect(await refusal(whole.replace(sell, `${other},\n        ${sell}`))).toMatch(/"sell" is there twice$/);
  });

  it("has a bound", async () => {
    expect(await refusal(" ".repeat(maxLockChars + 1))).toBe(
      "plugbay.lock: a lock file has at most 33554432 characters",
    );
  });

  it("drops what a lock does not have", async () => {
    const more = JSON.parse(whole);
    more.more = 1;
    more.servers.shop.more = 1;
    more.servers.shop.tools.buy.definition._meta = { a: 1 };
    expect(await parseLock(JSON.stringify(more), "x")).toStrictEqual(await parseLock(whole, "x"));
  });

  it("rejects with nothing but its own error, whatever was done to the text", async () => {
    const edits = fc.tuple(fc.nat(whole.length), fc.nat(20), fc.string({ maxLength: 5 }));
    await fc.assert(
      fc.asyncProperty(edits, async ([at, cut, put]) => {
        const text = whole.slice(0, at) + put + whole.slice(at + cut);
        const outcome = await parseLock(text, "plugbay.lock").catch((error: unknown) => error);
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(McpError);
      }),
      { numRuns: 300 },
    );
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (servers) => {
        const text = JSON.stringify({ lockVersion: 2, servers });
        const outcome = await parseLock(text, "plugbay.lock").catch((error: unknown) => error);
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(McpError);
      }),
    );
  });
});
