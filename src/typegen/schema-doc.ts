import { isObject, type Json } from "../json/json.ts";
import type { Doc } from "./type-tree.ts";

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
