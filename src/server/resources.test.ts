import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { complete, failureOf, faultLog, send } from "../../test/support/direct.ts";
import type { ResourceContents } from "../protocol/content.ts";
import { type ResourceDefinition, type ResourceOptions, resource } from "./resource.ts";
import { createServer } from "./server.ts";

const info = { name: "shop", version: "1" };
const read = () => "x";
const uri = "stock://a";

const serving = (...resources: readonly ResourceDefinition[]) => createServer({ ...info, resources });

/** What is read when `read` returns this. */
async function contentsOf(value: unknown, options: Partial<ResourceOptions<string>> = {}) {
  const { contents } = await complete(serving(resource(uri, { ...options, read: () => value })), "resources/read", {
    uri,
  });
  return contents;
}

describe("which resource is read", () => {
  const server = serving(
    resource("stock://{sku}", { read: ({ sku }) => `any ${sku}` }),
    resource("stock://fixed", { read: () => "the fixed one" }),
    resource("stock://{+path}", { read: ({ path }) => `path ${path}` }),
    resource("find://{?q,tag*}", { read: ({ q, tag }) => `${q} ${tag?.join("+")}` }),
  );
  const textOf = async (uri: string) => {
    const { contents } = await complete(server, "resources/read", { uri });
    return (contents[0] as { text?: string } | undefined)?.text;
  };

  it.each([
    ["C71: an exact one before templates", "stock://fixed", "the fixed one"],
    ["C71: a template", "stock://tea", "any tea"],
    ["C71: with decoded variables", "stock://gr%C3%BCn%20tea%2Fa", "any grün tea/a"],
    ["C71: an earlier template before a later one", "stock://b", "any b"],
    ["C71: a later one where the earlier does not match", "stock://b/c", "path b/c"],
    ["C71: lists and optional variables", "find://?tag=1&tag=2", "undefined 1+2"],
    ["a variable that is called like a member of every object", "stock://constructor", "any constructor"],
  ])("%s", async (_, uri, text) => {
    expect(await textOf(uri)).toBe(text);
  });

  it.each(["other://a", "", "no uri", "stock://", "__proto__", "stock://%E0%A4%A"])("%j is not found", async (uri) => {
    const failure = { code: "resource-not-found", message: `no resource ${uri}`, data: { uri } };
    expect(failureOf(await send(server, "resources/read", { uri }))).toStrictEqual(failure);
  });

  it("variables have no prototype to reach", async () => {
    const seen: unknown[] = [];
    const odd = serving(resource("x://{__proto__}/{constructor}", { read: (variables) => void seen.push(variables) }));
    await send(odd, "resources/read", { uri: "x://a/b" });
    expect(Object.entries(seen[0] as object)).toEqual([
      ["__proto__", "a"],
      ["constructor", "b"],
    ]);
  });

  it("what was removed is gone, what was added is there", async () => {
    const changing = serving(resource("a://1", { read }));
    changing.resources.remove("a://1");
    changing.resources.add(resource("a://{x}", { read: ({ x }) => `new ${x}` }));
    const { contents } = await complete(changing, "resources/read", { uri: "a://1" });
    expect(contents).toMatchObject([{ text: "new 1" }]);
  });
});

describe("what read may return", () => {
  const bytes = new Uint8Array([0, 255, 16]);
  const sliced = new Uint8Array([9, 0, 255, 16, 9]).subarray(1, 4);
  const blob = "AP8Q";

  it.each<[string, unknown, readonly ResourceContents[]]>([
    ["text", "hi", [{ uri, mimeType: "text/plain", text: "hi" }]],
    ["empty text", "", [{ uri, mimeType: "text/plain", text: "" }]],
    ["C72: bytes", bytes, [{ uri, mimeType: "application/octet-stream", blob }]],
    ["C72: a part of a buffer", sliced, [{ uri, mimeType: "application/octet-stream", blob }]],
    ["C72: a buffer", bytes.buffer, [{ uri, mimeType: "application/octet-stream", blob }]],
    ["C72: another view", new DataView(bytes.buffer), [{ uri, mimeType: "application/octet-stream", blob }]],
    ["C72: contents", { text: "hi" }, [{ uri, text: "hi" }]],
    ["C72: contents with their own uri", { uri: "b://c", text: "hi" }, [{ uri: "b://c", text: "hi" }]],
    ["C72: contents with a blob", { blob, mimeType: "image/png" }, [{ uri, blob, mimeType: "image/png" }]],
    ["C72: contents with meta", { text: "hi", _meta: { a: 1 } }, [{ uri, text: "hi", _meta: { a: 1 } }]],
    [
      "C72: many contents",
      [{ text: "1" }, { uri: "b://c", blob }],
      [
        { uri, text: "1" },
        { uri: "b://c", blob },
      ],
    ],
    [
      "C72: many bytes",
      [bytes, { text: "1" }],
      [
        { uri, mimeType: "application/octet-stream", blob },
        { uri, text: "1" },
      ],
    ],
    [
      "C72: a full result",
      { contents: [{ text: "1" }, "2"] },
      [
        { uri, text: "1" },
        { uri, mimeType: "text/plain", text: "2" },
      ],
    ],
    ["JSON", { a: 1 }, [{ uri, mimeType: "application/json", text: '{"a":1}' }]],
    [
      "JSON that has a text",
      { text: "hi", by: "ann" },
      [{ uri, mimeType: "application/json", text: '{"text":"hi","by":"ann"}' }],
    ],
    ["an empty object", {}, [{ uri, mimeType: "application/json", text: "{}" }]],
    [
      "an object with nothing but a uri",
      { uri: "b://c" },
      [{ uri, mimeType: "application/json", text: '{"uri":"b://c"}' }],
    ],
    ["a list of text", ["a", "b"], [{ uri, mimeType: "application/json", text: '["a","b"]' }]],
    ["an empty list", [], [{ uri, mimeType: "application/json", text: "[]" }]],
    ["a number", 0, [{ uri, mimeType: "application/json", text: "0" }]],
    ["false", false, [{ uri, mimeType: "application/json", text: "false" }]],
  ])("%s", async (_, value, contents) => {
    expect(await contentsOf(value)).toStrictEqual(contents);
    expect(await contentsOf(Promise.resolve(value))).toStrictEqual(contents);
  });

  it.each<[unknown, object]>([
    ["hi", { mimeType: "text/x", text: "hi" }],
    [bytes, { mimeType: "text/x", blob }],
    [{ text: "hi" }, { mimeType: "text/x", text: "hi" }],
    [
      { text: "hi", mimeType: "text/y" },
      { mimeType: "text/y", text: "hi" },
    ],
    [{ a: 1 }, { mimeType: "text/x", text: '{"a":1}' }],
  ])("%j with the type of the resource, unless it has its own", async (value, contents) => {
    expect(await contentsOf(value, { mimeType: "text/x" })).toStrictEqual([{ uri, ...contents }]);
  });

  it("C72: base64 of any bytes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), async (value) => {
        const [contents] = await contentsOf(value);
        expect(contents).toMatchObject({ blob: Buffer.from(value).toString("base64") });
      }),
    );
  });

  it.each([undefined, null, { contents: [] }])("%j means: not found", async (value) => {
    const outcome = await send(serving(resource(uri, { read: () => value })), "resources/read", { uri });
    expect(failureOf(outcome)).toEqual({ code: "resource-not-found", message: `no resource ${uri}`, data: { uri } });
  });

  it.each<[string, unknown]>([
    ["a function", () => "secret"],
    ["a symbol", Symbol("secret")],
    ["a large integer", 1n],
  ])("%s is an internal error", async (_, value) => {
    const { faults, onError } = faultLog();
    const server = createServer({ ...info, onError, resources: [resource(uri, { read: () => value })] });
    expect(failureOf(await send(server, "resources/read", { uri })).message).toMatch(/^internal error/);
    expect(faults).toMatchObject([[expect.any(Error), { method: "resources/read", name: uri }]]);
  });

  it("says how long it may be kept: the result, the resource or the server", async () => {
    const cache = { ttlMs: 1, scope: "public" } as const;
    const resources = [
      resource("a://1", { read }),
      resource("a://2", { read, cache: { ttlMs: 2, scope: "private" } }),
      resource("a://3", { read: () => ({ contents: ["x"], ttlMs: 3, _meta: { m: 1 } }), cache: { ttlMs: 2 } }),
    ];
    const server = createServer({ ...info, cache, resources });
    const kept = async (uri: string) => {
      const { contents: _, ...rest } = await complete(server, "resources/read", { uri });
      return rest;
    };
    expect(await kept("a://1")).toStrictEqual({ ttlMs: 1, cacheScope: "public" });
    expect(await kept("a://2")).toStrictEqual({ ttlMs: 2, cacheScope: "private" });
    expect(await kept("a://3")).toStrictEqual({ ttlMs: 3, cacheScope: "public", _meta: { m: 1 } });
  });
});

describe("lists", () => {
  const said = {
    title: "T",
    description: "D",
    mimeType: "text/x",
    icons: [{ src: "https://x" }],
    annotations: { priority: 1 },
  };

  it("C68: leave out what is not set, and name a resource by its URI", async () => {
    const server = serving(resource("a://1", { read }), resource("a://{x}", { read }));
    expect((await complete(server, "resources/list", {})).resources).toStrictEqual([{ uri: "a://1", name: "a://1" }]);
    expect((await complete(server, "resources/templates/list", {})).resourceTemplates).toStrictEqual([
      { uriTemplate: "a://{x}", name: "a://{x}" },
    ]);
  });

  it("have everything that is set", async () => {
    const server = serving(
      resource("a://1", { ...said, name: "one", size: 7, meta: { a: 1 }, read }),
      resource("a://{x}", { ...said, name: "all", meta: { a: 1 }, read }),
    );
    expect((await complete(server, "resources/list", {})).resources).toStrictEqual([
      { uri: "a://1", name: "one", ...said, _meta: { a: 1 }, size: 7 },
    ]);
    expect((await complete(server, "resources/templates/list", {})).resourceTemplates).toStrictEqual([
      { uriTemplate: "a://{x}", name: "all", ...said, _meta: { a: 1 } },
    ]);
  });

  it("have what templates list after the others, on the last page", async () => {
    const listed = (name: string) => ({ uri: `t://${name}`, name });
    const server = createServer({
      ...info,
      pageSize: 1,
      resources: [
        resource("a://1", { read }),
        resource("t://{x}", { read, list: () => [listed("x"), listed("y")] }),
        resource("a://2", { read }),
        resource("u://{x}", { read, list: async () => [listed("z")] }),
        resource("v://{x}", { read }),
      ],
    });
    const first = await complete(server, "resources/list", {});
    expect(first.resources.map(({ uri }) => uri)).toEqual(["a://1"]);
    const second = await complete(server, "resources/list", { cursor: first.nextCursor ?? "" });
    expect(second.resources.map(({ uri }) => uri)).toEqual(["a://2", "t://x", "t://y", "t://z"]);
    expect(second).toMatchObject({ ttlMs: 0, cacheScope: "private" });
    expect(second.nextCursor).toBeUndefined();
  });

  it("C42: mask what a template throws while it lists", async () => {
    const { faults, onError } = faultLog();
    const list = () => Promise.reject(new Error("secret"));
    const server = createServer({ ...info, onError, resources: [resource("t://{x}", { read, list })] });
    expect(failureOf(await send(server, "resources/list", {})).message).toMatch(/^internal error/);
    expect(faults).toMatchObject([[{ message: "secret" }, { method: "resources/list" }]]);
  });
});

describe("C67: a bad definition fails at once and names the resource", () => {
  it.each<[string, { readonly uri: string; readonly [option: string]: unknown }, string]>([
    ["no uri", { uri: "relative/path", read }, "resource relative/path: it is not an absolute URI"],
    ["a broken template", { uri: "a://{x", read }, "resource a://{x: "],
    ["read is no function", { uri: "a://1", read: "x" }, "resource a://1: read must be a function"],
    ["read of a template is no function", { uri: "a://{x}" }, "resource a://{x}: read must be a function"],
    ["icons are no array", { uri: "a://1", read, icons: "x" }, "resource a://1: icons must be an array"],
  ])("%s", (_, { uri, ...options }, problem) => {
    expect(() => serving(resource(uri, options as unknown as ResourceOptions<string>))).toThrow(
      expect.objectContaining({ code: "invalid-definition", message: expect.stringContaining(problem) }),
    );
  });

  it.each([
    [undefined, "resource undefined"],
    [{ uri: 7, read }, "resource 7"],
    [{ uri: "a://1", read }, "resource a://1"],
  ])("%o was not made by resource()", (definition, name) => {
    expect(() => serving(definition as unknown as ResourceDefinition)).toThrow(
      `${name}: it must be made by resource()`,
    );
  });

  it.each(["a://1", "a://{x}"])("%s twice", (uri) => {
    const one = resource(uri, { read });
    expect(() => serving(one, one)).toThrow(`${uri} is defined twice`);
  });
});
