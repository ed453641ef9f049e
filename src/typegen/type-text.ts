import { isObject, type Json } from "../json/json.ts";
import { entries } from "../schema/vocabulary.ts";
import {
  beyond,
  type Doc,
  type Member,
  type ObjectType,
  type Tag,
  type TupleType,
  type Type,
  word,
} from "./type-tree.ts";

/** How many characters a line may have before a type is written over several. */
const maxWidth = 100;

/** Writes a type down. All lines but the first begin with `indent`. A text that begins with a line end is a list. */
export function typeText(type: Type, indent = ""): string {
  switch (type.kind) {
    case "word":
      return type.note === undefined ? type.text : `${type.text} /* ${inComment(type.note)} */`;
    case "literal":
      return type.text;
    case "name":
      return type.name;
    case "array":
      return `${operand(type.item, indent)}[]`;
    case "tuple":
      return tupleText(type, indent);
    case "object":
      return objectText(type, indent);
    case "union":
      return listText(
        type.of.map((part) => typeText(part, `${indent}  `)),
        "|",
        indent,
      );
    case "intersection":
      return listText(
        type.of.map((part) => operand(part, `${indent}  `)),
        "&",
        indent,
      );
  }
}

/** `name: type`, where the type may begin on the next line. */
export function labelled(label: string, text: string): string {
  return text.startsWith("\n") ? `${label}${text}` : `${label} ${text}`;
}

/** A type that something is written behind. */
function operand(type: Type, indent: string): string {
  const text = typeText(type, indent);
  const isOne =
    type.kind === "tuple" ? type.isReadonly !== true : type.kind !== "union" && type.kind !== "intersection";
  if (isOne) return text;
  return text.startsWith("\n") ? `(${text}\n${indent})` : `(${text})`;
}

function listText(parts: readonly string[], sign: "|" | "&", indent: string): string {
  const line = parts.join(` ${sign} `);
  const fits = indent.length + line.length <= maxWidth && parts.every((part) => !part.startsWith("\n"));
  if (fits || parts.length < 2) return line;
  return parts.map((part) => `\n${indent}  ${labelled(sign, part)}`).join("");
}

function tupleText({ items, required, rest, isReadonly = false }: TupleType, indent: string): string {
  const texts = items.map((item, index) =>
    index < required ? elementText(item, indent) : `${operand(item, indent)}?`,
  );
  if (rest !== undefined) texts.push(`...${operand(rest, indent)}[]`);
  return `${isReadonly ? "readonly " : ""}[${texts.join(", ")}]`;
}

/** An item of a tuple, which may not begin with a line end for readers' sake. */
function elementText(item: Type, indent: string): string {
  const text = typeText(item, indent);
  return text.startsWith("\n") ? operand(item, indent) : text;
}

function objectText({ members, index }: ObjectType, indent: string): string {
  const inner = `${indent}  `;
  const lines = members.map((member) => memberText(member, inner));
  if (index !== undefined) lines.push(labelled("[name: string]:", typeText(index, inner)));
  if (lines.length === 0) return "{}";
  const line = `{ ${lines.join("; ")} }`;
  const hasDocs = members.some(({ doc }) => docComment(doc, "") !== "");
  if (!hasDocs && !line.includes("\n") && indent.length + line.length <= maxWidth) return line;
  const docs = members.map(({ doc }) => docComment(doc, inner));
  return `{\n${lines.map((text, at) => `${docs[at] ?? ""}${inner}${text};\n`).join("")}${indent}}`;
}

function memberText({ name, type, isOptional = false, isReadonly = false }: Member, indent: string): string {
  const label = `${isReadonly ? "readonly " : ""}${memberName(name)}${isOptional ? "?" : ""}:`;
  return labelled(label, typeText(type, indent));
}

const maxDepth = 16;
const maxLength = 1_000;

/** The type of exactly this value. What is too long for a literal is any of its kind. */
export function literalType(value: Json, depth = 0): Type {
  switch (typeof value) {
    case "string":
      return value.length > maxLength ? word("string") : { kind: "literal", text: quote(value), of: "string" };
    case "number":
      return Number.isFinite(value) ? { kind: "literal", text: String(value), of: "number" } : word("number");
    case "boolean":
      return { kind: "literal", text: String(value), of: "boolean" };
    default:
      return value === null ? word("null") : structure(value, depth + 1);
  }
}

/** Values in a schema are what `as const` makes of them. */
function structure(value: Json, depth: number): Type {
  if (depth > maxDepth) return beyond(`nested deeper than ${maxDepth} levels`);
  const members = entries(value).map(([name, member]) => ({
    name,
    type: literalType(member, depth),
    isReadonly: true,
  }));
  if (!Array.isArray(value)) return { kind: "object", members };
  return { kind: "tuple", items: members.map(({ type }) => type), required: members.length, isReadonly: true };
}

/** How many values there are in a value, itself included. */
export function sizeOf(value: Json, depth = 0): number {
  if (depth > maxDepth) return 1;
  return entries(value).reduce((sum, [, member]) => sum + sizeOf(member, depth + 1), 1);
}

/** The name of a member, in quotes when it needs them. */
function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
}

/** A text as a string of the language. */
export function quote(text: string): string {
  return withoutTricks(JSON.stringify(text));
}

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

/** What the comment of a member or a type says. */
export function docOf(schema: Json | undefined): Doc | undefined {
  if (!isObject(schema)) return undefined;
  const { description, title, deprecated, default: value } = schema;
  const text = [description, title].find((words) => typeof words === "string" && words.trim() !== "");
  return {
    text: text === undefined ? undefined : String(text),
    tags: [
      ...(deprecated === true ? [{ name: "deprecated" } as const] : []),
      ...(value === undefined ? [] : [{ name: "default", text: short(JSON.stringify(value)) } as const]),
    ],
  };
}

function short(text: string): string {
  return text.length > maxDefault ? `${text.slice(0, maxDefault)} …` : text;
}

const maxDefault = 200;

/**
 * What is not seen, or changes how its neighbours are seen: controls, directions
 * of writing, blanks without width, tags, halves of pairs. Not the two that
 * emoji are made with.
 */
const trick = /(?![\u200d\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Writes characters that play tricks on readers as escapes, which mean the same in a string of the language. */
function withoutTricks(text: string): string {
  return text.replaceAll(trick, escaped);
}

function escaped(character: string): string {
  if (character === "\t") return character;
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
}
