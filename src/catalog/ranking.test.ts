import { describe, expect, it } from "vitest";
import { type PostingsList, scoresOf } from "./tool-index.ts";

/** Documents as lists of words; counts what is looked at. */
function collectionOf(documents: readonly (readonly string[])[]) {
  const postings = new Map<string, number[]>();
  for (const [document, words] of documents.entries()) {
    for (const word of new Set(words)) {
      const list = postings.get(word) ?? [];
      postings.set(word, [...list, document, words.filter((other) => other === word).length]);
    }
  }
  let looked = 0;
  const lengths = documents.map((words) => words.length);
  return {
    looked: () => looked,
    collection: {
      lengths,
      meanLength: lengths.reduce((sum, length) => sum + length, 0) / lengths.length,
      postingsOf(word: string): PostingsList | undefined {
        const list = postings.get(word);
        looked += (list?.length ?? 0) / 2;
        return list;
      },
    },
  };
}

const whole = (word: string) => [{ word, share: 1 }];

describe("scoresOf", () => {
  it("prefers rare words, frequent ones in a document, and short documents", () => {
    const { collection } = collectionOf([
      ["common", "rare"],
      ["common", "other"],
      ["common", "common"],
      ["common", "other", "other", "other"],
    ]);
    const [a = 0, b = 0, c = 0, d = 0] = scoresOf(collection, [whole("common"), whole("rare")]);
    expect(a).toBeGreaterThan(c);
    expect(c).toBeGreaterThan(b);
    expect(b).toBeGreaterThan(d);
    expect(d).toBeGreaterThan(0);
  });

  it("is the BM25 of the textbook", () => {
    const { collection } = collectionOf([["a", "a", "b"], ["b"]]);
    const idf = Math.log(1 + (2 - 1 + 0.5) / (1 + 0.5));
    const expected = (idf * 2 * 2.2) / (2 + 1.2 * (1 - 0.6 + 0.6 * (3 / 2)));
    expect([...scoresOf(collection, [whole("a")])]).toEqual([expected, 0]);
  });

  it("counts the best of the words that stand for one", () => {
    const { collection } = collectionOf([["file", "files"], ["file"], ["filed"]]);
    const choices = [
      { word: "file", share: 1 },
      { word: "files", share: 0.5 },
      { word: "filed", share: 0.5 },
    ];
    const [both = 0] = scoresOf(collection, [choices]);
    const [one = 0] = scoresOf(collection, [whole("file")]);
    const [other = 0] = scoresOf(collection, [[{ word: "files", share: 0.5 }]]);
    expect(both).toBe(Math.max(one, other));
  });

  it("looks only at where the wanted words are", () => {
    const documents = Array.from({ length: 5000 }, (_, index) => ["everywhere", `word${index % 100}`, `only${index}`]);
    const { collection, looked } = collectionOf(documents);
    scoresOf(collection, [whole("only7"), whole("word3"), whole("nowhere")]);
    expect(looked()).toBe(1 + 50);
  });
});
