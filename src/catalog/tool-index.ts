import { type CatalogTool, fullNameOf } from "./catalog-tool.ts";
import { type Collection, scoresOf, type Wanted } from "./ranking.ts";
import { stemOf } from "./stem.ts";
import { visitTexts } from "./tool-text.ts";
import { createWordReader, wordsOf } from "./words.ts";

/** A tool that was found. */
export interface Hit extends CatalogTool {
  /** `server:tool`. */
  readonly name: string;
  /** The larger the better. Says nothing across questions. */
  readonly score: number;
}

export interface SearchOptions {
  /** How many hits at most. Default 5. */
  readonly limit?: number;
  /** Only tools of this server. */
  readonly server?: string;
}

export interface ToolIndex {
  /**
   * The tools that fit best, best first; among equals the one that was given
   * first. The last word may be the beginning of one. Of a long query the first
   * 1,000 characters and 32 words count.
   */
  search(query: string, options?: SearchOptions): readonly Hit[];
}

const MAX_QUERY_CHARS = 1000;
const MAX_QUERY_WORDS = 32;
/** How many words the beginning of one may stand for, and how much such a word counts. */
const MAX_COMPLETIONS = 32;
const COMPLETION_SHARE = 0.5;

/**
 * An index of tools for questions in words: BM25 over names, titles,
 * descriptions, arguments and servers. Needs no model. Takes linear time; when
 * the tools change, make another.
 */
export function createToolIndex(tools: readonly CatalogTool[]): ToolIndex {
  return indexBy(stemOf, tools);
}

/** The same with words cut in another way. */
export function indexBy(stem: (word: string) => string, tools: readonly CatalogTool[]): ToolIndex {
  const documents = [...tools];
  const postings = new Map<string, number[]>();
  const lengths = readTools(documents, postings, stem);
  const collection: Collection = {
    lengths,
    meanLength: lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length),
    postingsOf: (word) => postings.get(word),
  };
  let sorted: readonly string[] | undefined;
  const completionsOf = (start: string): readonly string[] => {
    sorted ??= [...postings.keys()].sort();
    return startingWith(sorted, start);
  };

  return {
    search(query, { limit = 5, server } = {}) {
      const words = new Set(wordsOf(query.slice(0, MAX_QUERY_CHARS), stem));
      const scores = scoresOf(collection, wantedOf([...words].slice(0, MAX_QUERY_WORDS), completionsOf));
      const isWanted = (document: number): boolean => server === undefined || documents[document]?.server === server;
      return bestOf(scores, limit, isWanted).flatMap((document) => {
        const found = documents[document];
        const score = scores[document] ?? 0;
        return found === undefined ? [] : [{ server: found.server, tool: found.tool, name: fullNameOf(found), score }];
      });
    },
  };
}

/** Adds where each word occurs, and by how much; returns how long the texts of each tool are. */
function readTools(
  tools: readonly CatalogTool[],
  postings: Map<string, number[]>,
  stem: (word: string) => string,
): readonly number[] {
  const read = createWordReader((word) => listOf(postings, word), stem);
  return tools.map((tool, document) => {
    let length = 0;
    visitTexts(tool, (text, weight) => {
      read(text, (list) => {
        addPosting(list, document, weight);
        length += weight;
      });
    });
    return length;
  });
}

function listOf(postings: Map<string, number[]>, word: string): number[] {
  const list = postings.get(word) ?? [];
  postings.set(word, list);
  return list;
}

/** Documents come in order, so one that has the word already is the last of its list. */
function addPosting(list: number[], document: number, weight: number): void {
  const last = list.length - 1;
  if (list[last - 1] === document) list[last] = (list[last] ?? 0) + weight;
  else list.push(document, weight);
}

/** The last word may be unfinished; what it may become counts less than what it is. */
function wantedOf(words: readonly string[], completionsOf: (start: string) => readonly string[]): readonly Wanted[] {
  return words.map((word, index) => {
    const whole = { word, share: 1 };
    if (index < words.length - 1) return [whole];
    const longer = completionsOf(word).filter((other) => other !== word);
    return [whole, ...longer.map((other) => ({ word: other, share: COMPLETION_SHARE }))];
  });
}

/** The first words with this beginning in a sorted list. */
function startingWith(sorted: readonly string[], start: string): readonly string[] {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? "") < start) low = middle + 1;
    else high = middle;
  }
  const found: string[] = [];
  for (let at = low; found.length < MAX_COMPLETIONS && sorted[at]?.startsWith(start); at++)
    found.push(sorted[at] ?? "");
  return found;
}

/** The documents with the highest scores, best first; among equals the first. */
function bestOf(scores: Float64Array, limit: number, isWanted: (document: number) => boolean): readonly number[] {
  const found: number[] = [];
  for (let document = 0; document < scores.length; document++) {
    if ((scores[document] ?? 0) > 0 && isWanted(document)) found.push(document);
  }
  found.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  return found.slice(0, Math.max(0, limit));
}
