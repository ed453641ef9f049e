import { canonicalText } from "../json/canonical.ts";
import { isObject, type Json, type JsonObject } from "../json/json.ts";

/** One difference of two values. What is absent on a side was not there. */
export interface JsonChange {
  /** JSON Pointer to where they differ. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** Where two values differ, as far inside as they are alike. Lists of another length differ as a whole. */
export function changesOf(before: Json | undefined, after: Json | undefined, path = ""): readonly JsonChange[] {
  if (canonicalText(before) === canonicalText(after) && (before === undefined) === (after === undefined)) return [];
  if (isObject(before) && isObject(after)) return memberChanges(before, after, path);
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length && before.some(isContainer)) {
    return before.flatMap((item: Json, index) => changesOf(item, after[index], `${path}/${index}`));
  }
  return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
}

function memberChanges(before: JsonObject, after: JsonObject, path: string): readonly JsonChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const [old, now] = [own(before, name), own(after, name)];
    return changesOf(old, now, `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  });
}

function own(value: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function isContainer(value: Json): boolean {
  return typeof value === "object" && value !== null;
}
