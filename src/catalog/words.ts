import { stemOf } from "./stem.ts";

/**
 * Reads texts as words: split where names change case or have a separator, in
 * lower case, without accents and English endings. Each word is given as what
 * `make` made of it when it was first read.
 *
 * A name in camel case counts in parts and as a whole, so that `GitHub` is found
 * by `github`. Languages that put no space between words are cut into pairs of
 * characters. What it has read it knows for as long as it lives: most texts use
 * the same words.
 */
export function createWordReader<T>(
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

/** Letters and digits without a break. Accents are gone, and each character is in its usual form. */
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
