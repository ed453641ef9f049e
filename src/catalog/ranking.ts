/**
 * BM25 with its usual constants. `k1`: how much it helps when a word is there
 * several times. `b`: how much a long document is held back, from 0 to 1.
 */
export const k1 = 1.2;
export const b = 0.6;

/** Where a word occurs: the number of a document, then how often it is there, in turn. */
export type Postings = readonly number[];

/** What is known of all documents together. */
export interface Collection {
  /** How many words each document has. */
  readonly lengths: readonly number[];
  readonly meanLength: number;
  postingsOf(word: string): Postings | undefined;
}

/** One word of a question; the words that count as it, and how much. */
export type Wanted = readonly { readonly word: string; readonly share: number }[];

/**
 * The score of every document, 0 where no wanted word occurs. Of the words that
 * count as the same one only the best counts. Visits each posting of a wanted
 * word once.
 */
export function scoresOf(collection: Collection, wanted: readonly Wanted[]): Float64Array {
  const total = new Float64Array(collection.lengths.length);
  for (const choices of wanted) {
    const best = new Float64Array(total.length);
    for (const choice of choices) raise(best, collection, choice);
    for (let document = 0; document < total.length; document++) add(total, document, best[document] ?? 0);
  }
  return total;
}

/** Lifts the scores of the documents that have the word to what it is worth there. */
function raise(best: Float64Array, collection: Collection, { word, share }: Wanted[number]): void {
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
