import { docComment, inComment } from "./doc-comment.ts";
import { memberName } from "./literal.ts";
import type { Member, ObjectType, TupleType, Type } from "./type-tree.ts";

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
