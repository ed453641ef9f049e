import { type CatalogTool, toFullName } from "./sort-tools.ts";
import { visitTexts } from "./tokens.ts";

/** A tool that was found. */
export interface ToolHit extends CatalogTool {
  /** `server:tool`. */
  readonly name: string;
  /** The larger the better. Says nothing across questions. */
  readonly score: number;
}

export interface SearchOptions {
  /** How many hits at most. Default 5. */
  readonly limit?: number | undefined;
  /** Only tools of this server. */
  readonly server?: string | undefined;
}

export interface ToolIndex {
  /**
   * The best matches, best first; among equals, in the order of the tools given. The last word may be incomplete. Of a
   * long query, the first 1,000 characters and 32 words are used.
   */
  search(query: string, options?: SearchOptions): readonly ToolHit[];
}

const MAX_QUERY_CHARS = 1000;
const MAX_QUERY_WORDS = 32;
/** How many completions an incomplete word may match, and the weight of a completion. */
const MAX_COMPLETIONS = 32;
const COMPLETION_SHARE = 0.5;

/**
 * A search index of tools: BM25 over names, titles, descriptions, arguments and servers, without a model. Building it
 * takes linear time. It does not change; build another when the tools change.
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
      const scores = scoresOf(collection, queryWordsOf([...words].slice(0, MAX_QUERY_WORDS), completionsOf));
      const isWanted = (document: number): boolean => server === undefined || documents[document]?.server === server;
      return bestOf(scores, limit, isWanted).flatMap((document) => {
        const found = documents[document];
        const score = scores[document] ?? 0;
        return found === undefined ? [] : [{ server: found.server, tool: found.tool, name: toFullName(found), score }];
      });
    },
  };
}

/** Adds a posting for each word of each tool, and returns the word counts of the tools. */
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

/** Documents are added in order, so a document that already has the word is the last of its list. */
function addPosting(list: number[], document: number, weight: number): void {
  const last = list.length - 1;
  if (list[last - 1] === document) list[last] = (list[last] ?? 0) + weight;
  else list.push(document, weight);
}

/** The last word may be incomplete; a completion counts less than an exact match. */
function queryWordsOf(
  words: readonly string[],
  completionsOf: (start: string) => readonly string[],
): readonly QueryWord[] {
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

/**
 * BM25 with its usual constants. `k1`: the effect of repeated words. `b`: the effect of the document length, from 0 to
 * 1.
 */
const k1 = 1.2;
const b = 0.6;

/** The occurrences of a word: pairs of a document number and a count, in one array. */
export type PostingsList = readonly number[];

/** What is known of all documents together. */
interface Collection {
  /** How many words each document has. */
  readonly lengths: readonly number[];
  readonly meanLength: number;
  postingsOf(word: string): PostingsList | undefined;
}

/** One word of a query: the words that match it, and their weight. */
type QueryWord = readonly { readonly word: string; readonly share: number }[];

/**
 * The score of every document, 0 where no query word occurs. Of the words that match the same query word, only the best
 * counts. Visits each posting of a query word once.
 */
export function scoresOf(collection: Collection, wanted: readonly QueryWord[]): Float64Array {
  const total = new Float64Array(collection.lengths.length);
  for (const choices of wanted) {
    const best = new Float64Array(total.length);
    for (const choice of choices) raise(best, collection, choice);
    for (let document = 0; document < total.length; document++) add(total, document, best[document] ?? 0);
  }
  return total;
}

/** Raises the scores of the documents that contain the word to its score there. */
function raise(best: Float64Array, collection: Collection, { word, share }: QueryWord[number]): void {
  const { lengths, meanLength } = collection;
  const postings = collection.postingsOf(word) ?? [];
  const documents = postings.length / 2;
  const rarity = share * Math.log(1 + (lengths.length - documents + 0.5) / (documents + 0.5));
  for (let at = 0; at < postings.length; at += 2) {
    const document = postings[at] ?? 0;
    const count = postings[at + 1] ?? 0;
    const length = (lengths[document] ?? 0) / meanLength;
    const score = (rarity * count * (k1 + 1)) / (count + k1 * (1 - b + b * length));
    if (score > (best[document] ?? 0)) best[document] = score;
  }
}

function add(total: Float64Array, document: number, score: number): void {
  total[document] = (total[document] ?? 0) + score;
}

const MAX_NAME_CHARS = 200;

const MAX_FOUND = 3;

/**
 * Known names that are similar to an unknown one, nearest first, at most three; among equals, in the order given. A
 * full name is also compared by its part after the `:`. Case and separators are ignored.
 */
export function nearestTo(wanted: string, names: readonly string[]): readonly string[] {
  const want = folded(wanted);
  const near: { readonly name: string; readonly distance: number }[] = [];
  let reach = Math.max(2, Math.floor(want.length / 3));
  for (const name of names) {
    const distance = Math.min(...formsOf(name).map((form) => distanceOf(want, form, reach)));
    if (distance > reach) continue;
    const place = near.findIndex((other) => other.distance > distance);
    near.splice(place < 0 ? near.length : place, 0, { name, distance });
    if (near.length > MAX_FOUND) near.pop();
    // Skips names that are not nearer than the worst match so far.
    if (near.length === MAX_FOUND) reach = (near.at(-1)?.distance ?? 0) - 1;
    if (reach < 0) break;
  }
  return near.map(({ name }) => name);
}

function formsOf(name: string): readonly string[] {
  const colon = name.indexOf(":");
  return colon < 0 ? [folded(name)] : [folded(name), folded(name.slice(colon + 1))];
}

function folded(name: string): string {
  return name
    .slice(0, MAX_NAME_CHARS)
    .toLowerCase()
    .replaceAll(/[\s:_./-]+/g, "");
}

/** How many characters must be put in, left out or replaced; something above `reach` when it is more than that. */
function distanceOf(a: string, b: string, reach: number): number {
  if (Math.abs(a.length - b.length) > reach) return reach + 1;
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  let row = [...above];
  for (let at = 1; at <= a.length; at++) {
    if (fillRow(row, above, a.charCodeAt(at - 1), b) > reach) return reach + 1;
    [above, row] = [row, above];
  }
  return above[b.length] ?? 0;
}

/** Fills the row of one more character from the one above it. Returns its least distance. */
function fillRow(row: number[], above: readonly number[], unit: number, b: string): number {
  let left = (above[0] ?? 0) + 1;
  let least = left;
  row[0] = left;
  for (let at = 1; at <= b.length; at++) {
    const replaced = (above[at - 1] ?? 0) + (b.charCodeAt(at - 1) === unit ? 0 : 1);
    left = Math.min(replaced, (above[at] ?? 0) + 1, left + 1);
    row[at] = left;
    if (left < least) least = left;
  }
  return least;
}

/**
 * Creates a function that splits texts into words: at changes of case and at separators, in lower case, without accents
 * and English endings. Each word is mapped by `make` once, and then cached.
 *
 * A name in camel case gives its parts and the whole, so that `GitHub` is found by `github`. Languages that put no
 * space between words are cut into pairs of characters. The cache lasts as long as the function: most texts use the
 * same words.
 */
function createWordReader<T>(
  make: (word: string) => T,
  stem: (word: string) => string = stemOf,
): (text: string, visit: (word: T) => void) => void {
  const known = new Map<string, readonly T[]>();
  const wordsIn = (run: string): readonly T[] => {
    const words = partsOf(run).map((part) => make(stem(part)));
    known.set(run, words);
    return words;
  };

  return (text, visit) => {
    for (const run of runsOf(text)) for (const word of known.get(run) ?? wordsIn(run)) visit(word);
  };
}

/** The words of one text. */
export function wordsOf(text: string, stem?: (word: string) => string): readonly string[] {
  const words: string[] = [];
  createWordReader((word) => word, stem)(text, (word) => words.push(word));
  return words;
}

/** Runs of letters and digits. Accents are removed, and each character is in its normal form. */
function runsOf(text: string): readonly string[] {
  if (!/[^\0-\x7f]/.test(text)) return text.match(/[A-Za-z0-9]+/g) ?? [];
  const plain = text
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .normalize("NFC");
  return plain.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

const crowded = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}ー]+/gu;

function partsOf(run: string): readonly string[] {
  const whole = run.toLowerCase();
  if (/^[a-z]*$/.test(run.slice(1))) return [whole];
  if (run.search(crowded) >= 0) return mixedPartsOf(run);
  const parts = run.match(/\p{Lu}+(?!\p{Ll})[\p{N}\p{M}]*|\p{Lu}?[^\p{Lu}]+/gu) ?? [];
  return parts.length < 2 ? [whole] : [...parts.map((part) => part.toLowerCase()), whole];
}

/** Latin words may stand among characters of a language without spaces. */
function mixedPartsOf(run: string): readonly string[] {
  const others = run.split(crowded).filter((part) => part !== "");
  return [...(run.match(crowded) ?? []).flatMap(pairsOf), ...others.map((part) => part.toLowerCase())];
}

function pairsOf(text: string): readonly string[] {
  const chars = [...text];
  return chars.length < 2 ? chars : chars.slice(1).map((char, index) => `${chars[index]}${char}`);
}

/**
 * An English word without its plural, `-ing` or `-ed`, and without a final `e`, so that `creates`, `creating` and
 * `created` are the same as `create`.
 *
 * The result need not be a word. Words of other alphabets and short words are unchanged. Expects lower case.
 */
export function stemOf(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  return withoutE(withoutTense(withoutPlural(word)));
}

function withoutPlural(word: string): string {
  if (/[^aeiou]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|zz)es$/.test(word)) return word.slice(0, -2);
  return /[^siu]s$/.test(word) ? word.slice(0, -1) : word;
}

/** Only where something with a vowel is left: `string` and `feed` have no tense. */
function withoutTense(word: string): string {
  const [, start = "", ending] = /^(.*[aeiouy].*?)(ing|ed)$/.exec(word) ?? [];
  if (ending === undefined || start.length < 3 || start.endsWith("e")) return word;
  return /([bdgmnprt])\1$/.test(start) ? start.slice(0, -1) : start;
}

function withoutE(word: string): string {
  return word.length > 3 && word.endsWith("e") ? word.slice(0, -1) : word;
}
