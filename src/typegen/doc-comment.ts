import type { Doc, Tag } from "./type-tree.ts";
import { withoutTricks } from "./visible.ts";

/** Descriptions end here: whoever wants to read more asks the server. */
const maxCharacters = 4_000;

/**
 * A comment for documentation, with its line end, or nothing when there is
 * nothing to say. The text comes from somebody else: it can neither end the
 * comment nor be read as a tag or an order to the compiler, and shows what it has.
 */
export function docComment(doc: Doc | undefined, indent: string): string {
  const lines = [...linesOf(doc?.text ?? ""), ...(doc?.tags ?? []).map(tagLine)];
  const [first, ...more] = lines;
  if (first === undefined) return "";
  if (more.length === 0) return `${indent}/** ${first} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

/** Foreign text on one line, for the middle of a comment. */
export function inComment(text: string): string {
  return linesOf(text).join(" ");
}

function tagLine({ name, text = "" }: Tag): string {
  return `@${name} ${inComment(text)}`.trimEnd();
}

function linesOf(text: string): readonly string[] {
  const lines = quoted(cut(text))
    .split(lineEnd)
    .map((line) => harmless(withoutTricks(line)).trimEnd());
  const isTold = lines.map((line) => line !== "");
  return lines.slice(0, isTold.lastIndexOf(true) + 1).filter((_, at) => isTold[at] || isTold[at - 1]);
}

/** Everything that somebody takes for a line end, not only the compiler. */
const lineEnd = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/;

function cut(text: string): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters).trimEnd()} …`;
}

/** A quote that is never closed would hide the tags that follow it. */
function quoted(text: string): string {
  return text.split("`").length % 2 === 1 ? text : text.replaceAll("`", "'");
}

/** No end of the comment, and no tag: an address such as `ann@example.com` is none. */
function harmless(line: string): string {
  return line.replaceAll("*/", "*\\/").replaceAll(/(?<!\w)@/g, "\\@");
}
