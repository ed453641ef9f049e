import { isObject, type Json } from "../../json/json.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { formatTable } from "./table.ts";

/** A value for people: a list of plain objects and a plain object as tables, everything else as JSON. */
export function formatValue(value: Json, columns: number | undefined): string {
  if (typeof value === "string") return printable(value);
  const rows = rowsOf(value);
  if (rows !== undefined) return formatTable(rows, columns);
  if (isFlat(value)) {
    return formatTable(
      Object.entries(value).map(([name, member]) => [oneLine(name), cell(member)]),
      columns,
    );
  }
  return printable(JSON.stringify(value, undefined, 2));
}

/** A list of plain objects, alone or as the only member of an object, as rows with a head. */
function rowsOf(value: Json): readonly (readonly string[])[] | undefined {
  const [only, ...others] = isObject(value) ? Object.values(value) : [value];
  const list = others.length === 0 ? only : undefined;
  if (!Array.isArray(list) || list.length === 0 || !list.every(isFlat)) return undefined;
  const names = [...new Set(list.flatMap((item) => Object.keys(item)))];
  const head = names.map((name) => oneLine(name).toUpperCase());
  return [head, ...list.map((item) => names.map((name) => cell(item[name])))];
}

type Flat = Readonly<Record<string, string | number | boolean | null>>;

function isFlat(value: Json | undefined): value is Flat {
  if (!isObject(value)) return false;
  const members = Object.values(value);
  return members.length > 0 && members.every((member) => member === null || typeof member !== "object");
}

function cell(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return oneLine(typeof value === "string" ? value : JSON.stringify(value));
}
