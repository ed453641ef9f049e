import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { connect } from "../../src/connect/index.ts";
import { openApi } from "../../src/gateway/index.ts";

/** What the server got of the last request. */
let got: { readonly url: string; readonly headers: Readonly<Record<string, unknown>> };
const server = createServer((request, response) => {
  got = { url: request.url ?? "", headers: request.headers };
  response.writeHead(204).end();
});

const pathStyles = [
  ["simple", false],
  ["simple", true],
  ["label", false],
  ["label", true],
  ["matrix", false],
  ["matrix", true],
] as const;
const queryStyles = [
  ["form", true],
  ["form", false],
  ["spaceDelimited", false],
  ["pipeDelimited", false],
  ["deepObject", true],
] as const;

const nameOf = (place: string, style: string, explode: boolean): string => `${place}_${style}_${explode}`;

function operation(place: string, style: string, explode: boolean): object {
  const required = place === "path";
  const parameter = { name: "it", in: place, style, explode, required, schema: {} };
  return { get: { operationId: nameOf(place, style, explode), parameters: [parameter], responses: {} } };
}

const paths = Object.fromEntries([
  ...pathStyles.map(([style, explode]) => [
    `/${nameOf("path", style, explode)}/{it}/end`,
    operation("path", style, explode),
  ]),
  ...queryStyles.map(([style, explode]) => [`/${nameOf("query", style, explode)}`, operation("query", style, explode)]),
  ["/header", operation("header", "simple", false)],
  ["/cookie", operation("cookie", "form", false)],
]);

let client: Client;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = await connect(await openApi({ openapi: "3.1.0", info: {}, paths }, { baseUrl }));
});
afterAll(async () => {
  await client.close();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

async function send(name: string, it: unknown): Promise<void> {
  const { isError, content } = await client.callTool(name, { it });
  expect(isError, JSON.stringify(content)).toBeUndefined();
}

/** The part of the path between the name of the operation and `/end`. */
const inPath = (): string => /^\/[^/]+\/(.*)\/end$/s.exec(got.url)?.[1] ?? "";
const inQuery = (): URLSearchParams => new URL(got.url, "http://localhost").searchParams;
const decoded = (parts: readonly string[]): readonly string[] => parts.map(decodeURIComponent);

// Words with everything that ends a part of a URL. A path cannot be told from another one by `.` and `..` alone.
const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }).filter((text) => text.isWellFormed());
const safe = word.map((text) => `x${text}`);
const list = fc.array(safe, { minLength: 1, maxLength: 4 });
const members = fc.dictionary(safe, word, { minKeys: 1, maxKeys: 4, noNullPrototype: true });
const runs = { numRuns: 60 };

/** Splits an exploded path at its separator, after the sign that it begins with. */
const splitters = { simple: ["", ","], label: [".", "."], matrix: [";", ";"] } as const;

describe("a server decodes what was sent", () => {
  it.each(pathStyles)("in a path of the style %s, exploded %s", async (style, explode) => {
    const [start, separator] = splitters[style];
    const name = nameOf("path", style, explode);
    const bare = (text: string): string => text.slice(start.length);
    const isNamed = style === "matrix";
    await fc.assert(
      fc.asyncProperty(list, members, async (words, object) => {
        await send(name, words);
        const parts = bare(inPath()).split(explode ? separator : ",");
        const items = isNamed
          ? parts.map((part, index) => (explode || index === 0 ? part.replace(/^it=/, "") : part))
          : parts;
        // A dot is not encoded, and separates labels: those are only told apart where the words have none.
        if (style !== "label" || !explode || !words.join("").includes(".")) expect(decoded(items)).toEqual(words);
        await send(name, object);
        const pairs = bare(inPath()).replace(explode || !isNamed ? /^/ : /^it=/, "");
        const flat = explode ? pairs.split(separator).flatMap((pair) => pair.split("=")) : pairs.split(",");
        const isPlain = !JSON.stringify(object).includes(".");
        if (style !== "label" || !explode || isPlain) expect(decoded(flat)).toEqual(Object.entries(object).flat());
      }),
      runs,
    );
  });

  it.each(queryStyles)("in a query of the style %s, exploded %s", async (style, explode) => {
    const name = nameOf("query", style, explode);
    const separators: Readonly<Record<string, string>> = { spaceDelimited: "%20", pipeDelimited: "%7C" };
    const raw = (): string => got.url.replace(/^[^?]*\?it=/, "");
    await fc.assert(
      fc.asyncProperty(list, members, async (words, object) => {
        await send(name, words);
        if (explode) expect(inQuery().getAll("it")).toEqual(words);
        else {
          const separator = separators[style] ?? ",";
          const isPlain = separator === "," || !words.some((text) => encodeURIComponent(text).includes(separator));
          if (isPlain) expect(decoded(raw().split(separator))).toEqual(words);
        }
        if (style === "spaceDelimited" || style === "pipeDelimited") return;
        await send(name, object);
        if (style === "deepObject") {
          expect([...inQuery()]).toEqual(Object.entries(object).map(([key, value]) => [`it[${key}]`, value]));
        } else if (explode) expect([...inQuery()]).toEqual(Object.entries(object));
        else expect(decoded(raw().split(","))).toEqual(Object.entries(object).flat());
      }),
      runs,
    );
  });

  it("in a cookie and a header", async () => {
    await fc.assert(
      fc.asyncProperty(word, fc.string({ minLength: 1, maxLength: 12 }), async (text, ascii) => {
        await send(nameOf("cookie", "form", false), text);
        expect(decodeURIComponent(String(got.headers.cookie).replace(/^it=/, ""))).toBe(text);
        await send(nameOf("header", "simple", false), ascii);
        expect(got.headers.it).toBe(ascii.trim());
      }),
      runs,
    );
  });

  it("whatever the text, at the path that was meant", async () => {
    const name = nameOf("path", "simple", false);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 8 }), async (text) => {
        got = { url: "", headers: {} };
        const { isError } = await client.callTool(name, { it: text });
        if (isError === true) expect(got.url).toBe("");
        else expect(decodeURIComponent(inPath())).toBe(text);
      }),
      runs,
    );
  });

  it.each(["a\r\nx-evil: 1", "a\0b", "€"])("refuses the header %j", async (text) => {
    expect((await client.callTool(nameOf("header", "simple", false), { it: text })).isError).toBe(true);
  });
});
