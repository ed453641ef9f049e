import { toMatcher } from "../std/glob.ts";

/** How globs fit something of which not all is known. */
export type Fit = "no" | "maybe" | "yes";

/** Globs on texts, and on URI templates that stand for many texts. */
export interface RuleGlobs {
  fits(text: string): boolean;
  /** `yes`: every URI of the template fits. `no`: none does. */
  fitTemplate(template: string): Fit;
  /** Whether a text that begins like this may fit. */
  mayBegin(prefix: string): boolean;
}

export function createRuleGlobs(globs: readonly string[]): RuleGlobs {
  const fits = toMatcher(globs);
  const meets = (text: string): boolean => globs.some((glob) => doMeet(glob, text));
  return {
    fits,
    fitTemplate(template) {
      if (template.length > maxTemplateChars) return "maybe";
      if (!meets(template.replaceAll(variable, "*"))) return "no";
      const isWhole = fits(template.replaceAll(variable, "")) && fits(template.replaceAll(variable, filler));
      return isWhole ? "yes" : "maybe";
    },
    mayBegin: (prefix) => meets(`${prefix}*`),
  };
}

const variable = /\{[^}]*\}/g;

/** Longer than a glob may be, of a character that is in none: only `*` takes it. */
export const maxGlobChars = 512;
const maxTemplateChars = 2_048;
const filler = "\u0000".repeat(maxGlobChars + 1);

/** Whether there is a text that two globs both fit. At worst the product of their lengths. */
function doMeet(one: string, other: string): boolean {
  let row = closure(other, new Set([0]));
  for (const char of one) {
    row = closure(other, char === "*" ? allFrom(row, other.length) : after(row, char, other));
    if (row.size === 0) return false;
  }
  return row.has(other.length);
}

/** A star takes whatever is left of the other. */
function allFrom(row: ReadonlySet<number>, end: number): Set<number> {
  const all = new Set<number>();
  for (let at = Math.min(...row); at <= end; at++) all.add(at);
  return all;
}

/** Where one may be in a glob after a character. */
function after(row: ReadonlySet<number>, char: string, glob: string): Set<number> {
  const next = new Set<number>();
  for (const at of row) {
    const there = glob[at];
    if (there === "*") next.add(at);
    else if (there !== undefined && (char === "?" || there === "?" || there === char)) next.add(at + 1);
  }
  return next;
}

/** A star may stand for nothing. */
function closure(glob: string, positions: Set<number>): Set<number> {
  for (const at of positions) if (glob[at] === "*") positions.add(at + 1);
  return positions;
}
