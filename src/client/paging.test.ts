import { describe, expect, it } from "vitest";
import { walk } from "./requests.ts";

interface Numbered {
  readonly items: readonly number[];
  readonly nextCursor?: string;
}

async function gather(pages: ReadonlyMap<string | undefined, Numbered>, maxPages = 1000, cursor?: string) {
  const asked: (string | undefined)[] = [];
  const items: number[] = [];
  const fetchPage = async (at: string | undefined): Promise<Numbered> => {
    asked.push(at);
    return pages.get(at) ?? { items: [] };
  };
  for await (const page of walk(fetchPage, { what: "tools/list", maxPages, cursor })) items.push(...page.items);
  return { asked, items };
}

describe("walk", () => {
  it("C138: reads page after page until there is no cursor", async () => {
    const pages = new Map([
      [undefined, { items: [1], nextCursor: "b" }],
      ["b", { items: [2], nextCursor: "c" }],
      ["c", { items: [3] }],
    ]);
    expect(await gather(pages)).toEqual({ asked: [undefined, "b", "c"], items: [1, 2, 3] });
  });

  it("C138: an empty cursor leads on; only its absence ends the list", async () => {
    const pages = new Map<string | undefined, Numbered>([
      [undefined, { items: [1], nextCursor: "" }],
      ["", { items: [2] }],
    ]);
    expect(await gather(pages)).toEqual({ asked: [undefined, ""], items: [1, 2] });
  });

  it.each([[""], ["b"]])("C138: a repeated cursor %j is an error that names it", async (cursor) => {
    const pages = new Map<string | undefined, Numbered>([
      [undefined, { items: [1], nextCursor: cursor }],
      [cursor, { items: [2], nextCursor: cursor }],
    ]);
    await expect(gather(pages)).rejects.toMatchObject({
      code: "invalid-response",
      message: `tools/list repeats the cursor ${JSON.stringify(cursor)}`,
    });
  });

  it("C138: stops at the limit of pages", async () => {
    let count = 0;
    const endless = async () => ({ items: [], nextCursor: `${++count}` });
    const read = async () => {
      for await (const _ of walk(endless, { what: "tools/list", maxPages: 1000 }));
    };
    await expect(read()).rejects.toMatchObject({
      code: "limit-reached",
      message: expect.stringMatching(/^tools\/list has more than 1000 pages \(maxPages\)/),
    });
    expect(count).toBe(1000);
  });

  it("starts where it is told, and fetches no page that nobody asked for", async () => {
    const pages = new Map<string | undefined, Numbered>([["b", { items: [2], nextCursor: "c" }]]);
    expect(await gather(pages, 1000, "b")).toEqual({ asked: ["b", "c"], items: [2] });
    const asked: unknown[] = [];
    const fetchPage = async (cursor: string | undefined) => {
      asked.push(cursor);
      return { items: [], nextCursor: "next" };
    };
    for await (const _ of walk(fetchPage, { what: "tools/list", maxPages: 9 })) break;
    expect(asked).toEqual([undefined]);
  });
});
