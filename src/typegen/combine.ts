import { typeText } from "./type-text.ts";
import { isAnyObject, isUnknown, never, type Type, unknown } from "./type-tree.ts";

/** One of several. */
export function union(types: readonly Type[]): Type {
  const flat = types.flatMap((type) => (type.kind === "union" ? type.of : [type]));
  if (flat.some(isUnknown)) return unknownOf(flat);
  const words = new Set(flat.flatMap((type) => (type.kind === "word" ? [type.text] : [])));
  const isNeeded = (type: Type): boolean => !isNever(type) && !(type.kind === "literal" && words.has(type.of));
  return joined("union", unique(flat.filter(isNeeded)), never);
}

/** All at once. */
export function intersect(types: readonly Type[]): Type {
  const flat = types.flatMap((type) => (type.kind === "intersection" ? type.of : [type]));
  if (flat.some(isNever)) return never;
  const telling = unique(flat.filter((type) => !isUnknown(type)));
  const narrow = telling.filter((type) => !isAnyObject(type));
  const needed = narrow.length === 0 ? telling.slice(0, 1) : withoutScalar(narrow);
  return joined("intersection", needed, unknownOf(flat));
}

/** `string & ("a" | 1)` is `"a"`: the compiler knows, readers should not have to. */
function withoutScalar(types: readonly Type[]): readonly Type[] {
  const [first, second, ...more] = types;
  if (first === undefined || second === undefined || more.length > 0) return types;
  const [scalar, other] = first.kind === "word" ? [first, second] : [second, first];
  if (scalar.kind !== "word") return types;
  const choices = other.kind === "union" ? other.of : [other];
  if (!choices.every(({ kind }) => kind === "literal")) return types;
  return [union(choices.filter((choice) => choice.kind === "literal" && choice.of === scalar.text))];
}

function joined(kind: "union" | "intersection", of: readonly Type[], none: Type): Type {
  const [first, ...more] = of;
  if (first === undefined) return none;
  return more.length === 0 ? first : { kind, of };
}

/** The one that says why it is unknown. */
function unknownOf(types: readonly Type[]): Type {
  return types.find((type) => isUnknown(type) && type.kind === "word" && type.note !== undefined) ?? unknown;
}

function isNever(type: Type): boolean {
  return type.kind === "word" && type.text === "never";
}

function unique(types: readonly Type[]): readonly Type[] {
  return types.length < 2 ? types : [...new Map(types.map((type) => [typeText(type), type])).values()];
}
