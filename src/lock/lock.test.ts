import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json/json.ts";
import { revisions } from "../protocol/revision.ts";
import type { Tool } from "../protocol/tool.ts";
import { approveServer, approveTools, createLock, forgetServer, forgetTools } from "./approve.ts";
import { diffLock, isLockClean, lockVerdict } from "./diff-lock.ts";
import { formatLock } from "./format-lock.ts";
import { formatLockDiff } from "./format-lock-diff.ts";
import { programChanges } from "./launch.ts";
import {
  fingerprintOf,
  type Lock,
  type LockedProgram,
  lockedTools,
  type ServerProgram,
  type ServerSurface,
} from "./lock.ts";
import { parseLock } from "./parse-lock.ts";

const buy: Tool = {
  name: "buy",
  title: "Buy",
  description: "Buy something",
  inputSchema: { type: "object", properties: { sku: { type: "string" }, qty: { type: "number" } }, required: ["sku"] },
  outputSchema: { type: "object" },
  annotations: { destructiveHint: true },
};
const sell: Tool = { name: "sell", inputSchema: { type: "object" } };
const shop: ServerSurface = {
  name: "shop",
  target: { url: "https://shop.example/mcp" },
  revision: "2026-07-28",
  info: { name: "shop", version: "1.0.0" },
  scopes: ["orders:write", "orders:read"],
  instructions: "Be polite.",
  tools: [sell, buy],
  prompts: [{ name: "upsell" }],
  resources: [
    { name: "b", uri: "stock://b" },
    { name: "a", uri: "stock://a", _meta: { now: 1 }, icons: [{ src: "data:," }] },
  ],
  resourceTemplates: [{ name: "stock", uriTemplate: "stock://{sku}" }],
};

const units = ["a", "B", "9", " ", '"', "\\", "\n", "é", "🚀", "\u200b", "\u2028", "\ufeff", "\u{e0041}", "\ud800"];
const text = fc.string({ unit: fc.constantFrom(...units), maxLength: 20 });
/** Names that objects have already are names like any other. */
const names = fc.oneof(fc.constantFrom("__proto__", "constructor", "toString", "10", "9", ""), text);
const objects = fc.dictionary(names, fc.jsonValue({ maxDepth: 2 })) as fc.Arbitrary<JsonObject>;
const tools: fc.Arbitrary<Tool> = fc
  .record(
    { name: names, inputSchema: objects, title: text, description: text, outputSchema: objects, annotations: objects },
    { requiredKeys: ["name", "inputSchema"] },
  )
  .map((tool) => tool as Tool);
const surfaces: fc.Arbitrary<ServerSurface> = fc
  .record(
    {
      name: names,
      tools: fc.array(tools, { maxLength: 4 }),
      target: fc.oneof(
        fc.record({ command: text }),
        fc.webUrl().map((url) => ({ url })),
      ),
      revision: fc.constantFrom(...revisions),
      info: fc.record({ name: text, version: text }),
      scopes: fc.array(text, { maxLength: 3 }),
      instructions: text,
      prompts: fc.array(fc.record({ name: names }), { maxLength: 2 }),
      resources: fc.array(fc.record({ name: names, uri: text }), { maxLength: 2 }),
    },
    { requiredKeys: ["name", "tools"] },
  )
  .map((surface) => surface as ServerSurface);

describe("createLock", () => {
  it("keeps what was approved, and a catalog to start with", async () => {
    const { servers } = await createLock([shop]);
    expect(servers.shop).toMatchObject({
      target: { url: "https://shop.example/mcp" },
      revision: "2026-07-28",
      info: { name: "shop", version: "1.0.0" },
      scopes: ["orders:read", "orders:write"],
      prompts: [{ name: "upsell" }],
      resources: [
        { name: "a", uri: "stock://a" },
        { name: "b", uri: "stock://b" },
      ],
      resourceTemplates: [{ name: "stock", uriTemplate: "stock://{sku}" }],
    });
    expect(servers.shop?.resources?.[0]).toEqual({ name: "a", uri: "stock://a" });
    expect(servers.shop?.instructions).toBe("Be polite.");
    expect(lockedTools({ lockVersion: 2, servers })).toEqual([
      { server: "shop", tool: buy },
      { server: "shop", tool: sell },
    ]);
  });

  it("takes the first of two tools with one name", async () => {
    const lock = await createLock([{ ...shop, tools: [buy, { ...buy, title: "Other" }] }]);
    expect(lock.servers.shop?.tools.buy?.definition.title).toBe("Buy");
  });
});

const digest: unknown = expect.stringMatching(/^sha256-[\w-]{43}$/);

describe("a target", () => {
  it.each([
    [
      { command: "npx", args: ["server", "--key", "S3CRET"], env: { TOKEN: "S3CRET" }, inheritEnv: ["KEY"] },
      {
        command: "npx",
        args: digest,
        env: ["KEY", "TOKEN"],
        packages: [{ spec: "server", isPinned: false }],
        fingerprint: digest,
      },
    ],
    [
      { command: "node", path: "/usr/bin/node", file: "/opt/node/22/bin/node", cwd: "/srv" },
      { command: "/usr/bin/node", file: "/opt/node/22/bin/node", cwd: "/srv", env: [], fingerprint: digest },
    ],
    [
      { command: "C:\\Program Files\\nodejs\\node.exe" },
      { command: "C:\\Program Files\\nodejs\\node.exe", env: [], fingerprint: digest },
    ],
    [{ command: "npx server --token S3CRET" }, { command: "npx", env: [], fingerprint: digest }],
    [{ command: "npx server --file=a/S3CRET" }, { command: "npx", env: [], fingerprint: digest }],
    [
      { url: "https://me:S3CRET@host:8443/mcp?key=S3CRET#S3CRET", headers: { a: "S3CRET" } },
      { url: "https://host:8443/mcp" },
    ],
    [{ url: "https://host/s/OTdhS3CRETAzLWJj1/mcp" }, { url: "https://host/s/***/mcp" }],
    [{ url: "https://host/123e4567-e89b-12d3-a456-426614174000/mcp" }, { url: "https://host/***/mcp" }],
    [
      { url: "https://host/v1/2026-07-28/my-long-endpoint-name" },
      { url: "https://host/v1/2026-07-28/my-long-endpoint-name" },
    ],
    [{ url: "no url with S3CRET" }, undefined],
  ])("%j is kept without secrets", async (target, kept) => {
    const lock = await createLock([{ ...shop, target }]);
    expect(lock.servers.shop?.target).toEqual(kept);
    expect(formatLock(lock)).not.toContain("S3CRET");
  });
});

describe("the fingerprint of a program", () => {
  const program: ServerProgram = {
    command: "node",
    args: ["server.js", "--root", "/srv"],
    cwd: "/home/ann",
    env: { KEY: "1", NODE_OPTIONS: "--no-warnings" },
    path: "/venv/bin/node",
    file: "/usr/bin/node",
  };
  const locked = async (target: ServerProgram) =>
    (await createLock([{ ...shop, target }])).servers.shop?.target as LockedProgram;

  it.each<[ServerProgram, string]>([
    [{ ...program, args: ["server.js", "--root", "/"] }, "has other arguments"],
    [{ ...program, args: ["server.js", "--root /srv"] }, "has other arguments"],
    [{ ...program, cwd: "/home/bob" }, "is started in /home/bob instead of /home/ann"],
    [{ ...program, path: "/other/bin/node" }, "starts /other/bin/node -> /usr/bin/node instead of /venv/bin/node -> "],
    [{ ...program, file: "/tmp/node" }, "starts /venv/bin/node -> /tmp/node instead of "],
    [{ ...program, env: { ...program.env, MORE: "" } }, "has the variables MORE, which were not approved"],
    [{ ...program, inheritEnv: ["MORE"] }, "has the variables MORE, which were not approved"],
    [{ ...program, env: { NODE_OPTIONS: "--no-warnings" } }, "lacks the variables KEY"],
    [{ ...program, env: { KEY: "1", NODE_OPTIONS: "--import /tmp/x.mjs" } }, "has other values of NODE_OPTIONS"],
    [{ ...program, command: "/venv/bin/node" }, "has other values of NODE_OPTIONS"],
  ])("is another for %j (S5)", async (other, change) => {
    const [before, now] = [await locked(program), await locked(other)];
    expect(programChanges(before, now).join()).toContain(change);
    const diff = diffLock(
      await createLock([{ ...shop, target: program }]),
      await createLock([{ ...shop, target: other }]),
    );
    expect(formatLockDiff(diff)).toContain(`it ${change}`);
  });

  it("is the same for other values of variables that choose no code", async () => {
    const other = { ...program, env: { ...program.env, KEY: "2" } };
    expect((await locked(other)).fingerprint).toBe((await locked(program)).fingerprint);
    expect(programChanges(await locked(program), await locked(other))).toEqual([]);
  });
});

describe("a fingerprint", () => {
  const reversed = (value: Json): Json => {
    if (Array.isArray(value)) return value.map((item: Json) => reversed(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value as JsonObject)
        .reverse()
        .map(([key, member]) => [key, reversed(member ?? null)]),
    );
  };

  it("is the same in any order of members, and without what does not count", async () => {
    const other = reversed(buy as unknown as Json) as unknown as Tool;
    const more: Tool = { ...other, icons: [{ src: "a" }], execution: { taskSupport: "optional" }, _meta: { a: 1 } };
    expect(await fingerprintOf(more)).toBe(await fingerprintOf(buy));
  });

  it.each<[string, Partial<Tool>]>([
    ["title", { title: "Buy!" }],
    ["description", { description: "Buy something\u200b" }],
    ["input schema", { inputSchema: { ...buy.inputSchema, required: [] } }],
    ["output schema", { outputSchema: {} }],
    ["annotations", { annotations: { destructiveHint: false } }],
    ["name", { name: "Buy" }],
  ])("is another for another %s", async (_, change) => {
    expect(await fingerprintOf({ ...buy, ...change })).not.toBe(await fingerprintOf(buy));
  });
});

describe("verdictOf", () => {
  it("approves what was approved, and nothing else", async () => {
    const lock = await createLock([shop]);
    expect(await lockVerdict(lock, "shop", structuredClone(buy))).toBe("approved");
    expect(await lockVerdict(lock, "shop", { ...buy, description: "Buy anything" })).toBe("changed");
    expect(await lockVerdict(lock, "shop", { ...buy, name: "buy2" })).toBe("unknown");
    expect(await lockVerdict(lock, "other", buy)).toBe("unknown");
    for (const name of ["__proto__", "constructor", "toString"]) {
      expect(await lockVerdict(lock, name, buy)).toBe("unknown");
      expect(await lockVerdict(lock, "shop", { ...buy, name })).toBe("unknown");
      expect(
        await lockVerdict({ lockVersion: 2, servers: { shop: { scopes: [], tools: {} } } }, "shop", { ...buy, name }),
      ).toBe("unknown");
    }
  });

  it("looks at the definition of a tool once", async () => {
    const lock = await createLock([shop]);
    let reads = 0;
    const tool: Tool = {
      ...buy,
      get description() {
        reads++;
        return "Buy something";
      },
    };
    const verdicts = await Promise.all(Array.from({ length: 1000 }, () => lockVerdict(lock, "shop", tool)));
    expect(new Set(verdicts)).toEqual(new Set(["approved"]));
    expect(reads).toBe(1);
  });
});

describe("a lock file", () => {
  it("looks like this", async () => {
    const lock = await createLock([{ ...shop, resources: [], resourceTemplates: [] }]);
    expect(formatLock(lock).replaceAll(/sha256-[\w-]{43}/g, "sha256-…")).toBe(`{
  "lockVersion": 2,
  "servers": {
    "shop": {
      "info": {
        "name": "shop",
        "version": "1.0.0"
      },
      "instructions": "Be polite.",
      "prompts": [
        {"name":"upsell"}
      ],
      "revision": "2026-07-28",
      "scopes": [
        "orders:read",
        "orders:write"
      ],
      "target": {
        "url": "https://shop.example/mcp"
      },
      "tools": {
        "buy": {
          "definition": {
            "annotations": {"destructiveHint":true},
            "description": "Buy something",
            "inputSchema": {"properties":{"qty":{"type":"number"},"sku":{"type":"string"}},"required":["sku"],"type":"object"},
            "name": "buy",
            "outputSchema": {"type":"object"},
            "title": "Buy"
          },
          "fingerprint": "sha256-…"
        },
        "sell": {
          "definition": {
            "inputSchema": {"type":"object"},
            "name": "sell"
          },
          "fingerprint": "sha256-…"
        }
      }
    }
  }
}
`);
  });

  it("gives back any lock that was written to it, and is the same when written again", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(surfaces, { maxLength: 4 }), async (servers) => {
        const lock = await createLock(servers);
        const written = formatLock(lock);
        const read = await parseLock(written, "plugbay.lock");
        expect(read).toEqual(lock);
        expect(formatLock(read)).toBe(written);
        expect(isLockClean(diffLock(read, lock))).toBe(true);
      }),
    );
  });

  it("does not depend on the order in which servers and tools came", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(surfaces, { selector: ({ name }) => name, maxLength: 4 }), async (servers) => {
        const unique = servers.map((server) => ({
          ...server,
          tools: [...new Map(server.tools.map((tool) => [tool.name, tool])).values()],
        }));
        const turned = unique.toReversed().map((server) => ({ ...server, tools: server.tools.toReversed() }));
        expect(formatLock(await createLock(turned))).toBe(formatLock(await createLock(unique)));
      }),
    );
  });

  it("shows hidden characters as escapes", async () => {
    const lock = await createLock([{ ...shop, tools: [{ ...buy, description: "a\u200b\u202e\u{e0041}b" }] }]);
    expect(formatLock(lock)).toContain('"description": "a\\u200b\\u202e\\udb40\\udc41b"');
  });
});

describe("approving", () => {
  it("adds and replaces tools, and leaves all else", async () => {
    const lock = await createLock([shop]);
    const changed = { ...buy, description: "Buy anything" };
    const next = await approveTools(lock, "shop", changed, { ...sell, name: "swap" });
    expect(Object.keys(next.servers.shop?.tools ?? {})).toEqual(["buy", "sell", "swap"]);
    expect(await lockVerdict(next, "shop", changed)).toBe("approved");
    expect(await lockVerdict(lock, "shop", changed)).toBe("changed");
    expect(next.servers.shop).toMatchObject({ revision: "2026-07-28", scopes: ["orders:read", "orders:write"] });
    const first = await approveTools({ lockVersion: 2, servers: {} }, "__proto__", buy);
    expect(await lockVerdict(first, "__proto__", buy)).toBe("approved");
    expect(await parseLock(formatLock(first), "x")).toStrictEqual(first);
  });

  it("takes a server as it is now", async () => {
    const lock = await approveServer(await createLock([shop]), { ...shop, revision: "2025-11-25", tools: [buy] });
    expect(lock.servers.shop?.revision).toBe("2025-11-25");
    expect(Object.keys(lock.servers.shop?.tools ?? {})).toEqual(["buy"]);
  });

  it("is taken back by forgetting", async () => {
    const lock = await createLock([shop, { name: "mail", tools: [] }]);
    expect(await lockVerdict(forgetTools(lock, "shop", "buy"), "shop", buy)).toBe("unknown");
    expect(await lockVerdict(forgetTools(lock, "shop", "buy"), "shop", sell)).toBe("approved");
    expect(Object.keys(forgetServer(lock, "shop").servers)).toEqual(["mail"]);
    expect(forgetTools(lock, "nobody", "buy")).toBe(lock);
    expect(await lockVerdict(lock, "shop", buy)).toBe("approved");
  });

  it("makes a difference clean, whatever changed", async () => {
    await fc.assert(
      fc.asyncProperty(surfaces, surfaces, async (before, after) => {
        const now: Lock = await createLock([{ ...after, name: before.name }]);
        const lock = await approveServer(await createLock([before]), { ...after, name: before.name });
        expect(isLockClean(diffLock(lock, now))).toBe(true);
      }),
    );
  });
});
