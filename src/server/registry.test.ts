import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { complete, failureOf, send } from "../../test/support/direct.ts";
import { prompt } from "./prompt.ts";
import { resource } from "./resource.ts";
import { createServer } from "./server.ts";
import { tool } from "./tool.ts";

const info = { name: "shop", version: "1" };
const run = () => "";
const many = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, tool({ run })]));

/** All names, page by page. `between` may change the server after a page. */
async function walk(server: ReturnType<typeof createServer>, between: (page: number) => void = () => {}) {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await complete(server, "tools/list", cursor === undefined ? {} : { cursor });
    pages.push(page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
    between(pages.length);
  } while (cursor !== undefined);
  return pages;
}

describe("pages", () => {
  it.each([
    [1, [["c"], ["a"], ["b"]]],
    [2, [["c", "a"], ["b"]]],
    [3, [["c", "a", "b"]]],
    [4, [["c", "a", "b"]]],
  ])("C77: of %d have everything once, in the order it was added", async (pageSize, pages) => {
    const server = createServer({ ...info, pageSize, tools: many(["c", "a", "b"]) });
    expect(await walk(server)).toEqual(pages);
    expect(await walk(server)).toEqual(pages);
  });

  it("C77: hold 1000 by default", async () => {
    const names = Array.from({ length: 1_001 }, (_, index) => `t${index}`);
    const pages = await walk(createServer({ ...info, tools: many(names) }));
    expect(pages.map((page) => page.length)).toEqual([1_000, 1]);
    expect(pages.flat()).toEqual(names);
  });

  it("of nothing are one empty page", async () => {
    expect(await complete(createServer({ ...info, tools: {} }), "tools/list", {})).toEqual({
      tools: [],
      ttlMs: 0,
      cacheScope: "private",
    });
  });

  it("C77: show what stays exactly once, whatever comes and goes between them", async () => {
    const change = fc.record({ add: fc.boolean(), index: fc.nat(9) });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.array(change, { maxLength: 3 })),
        async (pageSize, changes) => {
          const initial = Array.from({ length: 10 }, (_, index) => `t${index}`);
          const server = createServer({ ...info, pageSize, tools: many(initial) });
          const touched = new Set<string>();
          let added = 0;
          const seen = await walk(server, (page) => {
            for (const { add, index } of changes[page - 1] ?? []) {
              if (add) server.tools.add(`new${added++}`, tool({ run }));
              else if (server.tools.remove(`t${index}`)) touched.add(`t${index}`);
            }
          });
          const names = seen.flat();
          expect(new Set(names).size).toBe(names.length);
          expect(names.filter((name) => initial.includes(name) && !touched.has(name))).toEqual(
            initial.filter((name) => !touched.has(name)),
          );
        },
      ),
      { numRuns: 50 },
    );
  });

  it("show what was added last on the last page, and not what was removed", async () => {
    const server = createServer({ ...info, pageSize: 2, tools: many(["a", "b", "c", "d"]) });
    const pages = await walk(server, (page) => {
      if (page !== 1) return;
      server.tools.remove("a");
      server.tools.remove("c");
      server.tools.add("e", tool({ run }));
    });
    expect(pages).toEqual([
      ["a", "b"],
      ["d", "e"],
    ]);
  });

  it("a name that is added again comes last", async () => {
    const server = createServer({ ...info, tools: many(["a", "b"]) });
    server.tools.remove("a");
    server.tools.add("a", tool({ run }));
    expect(await walk(server)).toEqual([["b", "a"]]);
  });

  it("are the same object until something changes", async () => {
    const server = createServer({ ...info, pageSize: 1, tools: many(["a", "b"]) });
    const first = await complete(server, "tools/list", {});
    const second = await complete(server, "tools/list", { cursor: first.nextCursor ?? "" });
    expect(await complete(server, "tools/list", {})).toBe(first);
    expect(await complete(server, "tools/list", { cursor: first.nextCursor ?? "" })).toBe(second);
    expect(Object.isFrozen(first)).toBe(true);
    server.tools.remove("nothing");
    server.prompts.add("p", prompt({ get: run }));
    expect(await complete(server, "tools/list", {})).toBe(first);
    server.tools.add("c", tool({ run }));
    expect(await complete(server, "tools/list", {})).not.toBe(first);
  });

  it("say how long they may be kept", async () => {
    const server = createServer({
      ...info,
      cache: { ttlMs: 5_000, scope: "public" },
      tools: {},
      prompts: {},
      resources: [],
    });
    for (const method of ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] as const) {
      expect(await complete(server, method, {})).toMatchObject({ ttlMs: 5_000, cacheScope: "public" });
    }
  });
});

describe("cursors", () => {
  const server = createServer({
    ...info,
    pageSize: 1,
    tools: many(["a", "b"]),
    prompts: { a: prompt({ get: run }), b: prompt({ get: run }) },
    resources: ["a://1", "a://2", "a://{x}", "b://{x}"].map((uri) => resource(uri, { read: run })),
  });
  const methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] as const;

  it("are opaque", async () => {
    for (const method of methods) {
      const { nextCursor = "" } = await complete(server, method, {});
      expect(nextCursor).toMatch(/^[\w-]+$/);
    }
  });

  it.each(["", "x", "a", "1", "dG9vbA", "====", "%00", "𝒳", "dG9vbDox\n"])(
    "made up like %j are refused",
    async (cursor) => {
      for (const method of methods) {
        const failure = { code: "invalid-params", message: "unknown cursor", data: { cursor } };
        expect(failureOf(await send(server, method, { cursor }))).toEqual(failure);
      }
    },
  );

  it("of one list are refused by the others", async () => {
    for (const method of methods) {
      const { nextCursor = "" } = await complete(server, method, {});
      for (const other of methods) {
        const { kind } = await send(server, other, { cursor: nextCursor });
        expect(kind).toBe(other === method ? "complete" : "failed");
      }
    }
  });

  it("a peer makes up are not all remembered", async () => {
    const large = createServer({
      ...info,
      pageSize: 1,
      tools: many(Array.from({ length: 300 }, (_, index) => `t${index}`)),
    });
    const at = (index: number) =>
      complete(large, "tools/list", { cursor: Buffer.from(`tool:${index}`).toString("base64url") });
    const pages: unknown[] = [];
    for (let index = 0; index < 300; index++) pages.push(await at(index));
    const again = await Promise.all(pages.map((_, index) => at(index)));
    expect(again).toEqual(pages);
    expect(again.filter((page, index) => page === pages[index])).toHaveLength(256);
  });

  it("that are any text fail the call or give a page, and nothing else", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (cursor) => {
        const outcome = await send(server, "tools/list", { cursor });
        expect(outcome.kind === "failed" ? outcome.failure.code : outcome.kind).toMatch(/^(invalid-params|complete)$/);
      }),
    );
  });
});

it.each([0, -1, Number.NaN])("a page size of %d is refused: it would hide everything", (pageSize) => {
  expect(() => createServer({ ...info, pageSize })).toThrow(`the option pageSize must be at least 1, not ${pageSize}`);
});

it("collections tell what they hold", () => {
  const server = createServer({
    ...info,
    tools: many(["b", "a"]),
    prompts: { p: prompt({ get: run }) },
    resources: [resource("a://{x}", { read: run }), resource("a://1", { read: run })],
  });
  expect(server.tools.names).toEqual(["b", "a"]);
  expect(server.prompts.names).toEqual(["p"]);
  expect(server.resources.names).toEqual(["a://1", "a://{x}"]);
  expect([server.tools.has("a"), server.tools.has("x"), server.tools.has("toString")]).toEqual([true, false, false]);
  expect([server.resources.has("a://1"), server.resources.has("a://{x}"), server.resources.has("a://2")]).toEqual([
    true,
    true,
    false,
  ]);
  expect([server.resources.remove("a://{x}"), server.resources.remove("a://{x}")]).toEqual([true, false]);
  expect([server.resources.remove("a://1"), server.prompts.remove("p"), server.prompts.remove("p")]).toEqual([
    true,
    true,
    false,
  ]);
  expect([server.prompts.names, server.resources.names]).toEqual([[], []]);
});
