import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { own, referenceKeys } from "./json-pointer.ts";
import { type Effort, type PatternCost, patternSteps, safePattern } from "./pattern-cost.ts";
import { Fuel, maxSteps, OutOfFuel } from "./rule.ts";
import { type Checked, refused, type Validator } from "./validator.ts";
import { entries, token, vocabulary } from "./vocabulary.ts";

/** A check that tries no pattern that could take too long. */
export interface GuardedCheck extends Pick<Validator, "check"> {
  /** What is wrong with a pattern: then every value is refused. */
  readonly problem: string | undefined;
}

/**
 * Proves that the patterns in the JSON Schema of a Standard Schema are safe to
 * match. The library matches them itself, on texts of any length: where a
 * pattern takes longer than the text is long, values are looked at before.
 * Flags are not published; that there is one for the case is assumed where it
 * makes a pattern unsafe.
 */
export function guardCheck(json: JsonObject, check: Validator["check"]): GuardedCheck {
  const costs = proveAll(json);
  if (typeof costs === "string") {
    return { problem: costs, check: () => refused("schema", `cannot be checked: ${costs}`) };
  }
  const isSlow = [...costs.values()].some(({ bits, degree }) => degree > 1 || bits > maxFreeBits);
  if (!isSlow) return { problem: undefined, check };
  const guard = createGuard(json, costs);
  return { problem: undefined, check: (value) => guard(value) ?? check(value) };
}

/** What every pattern costs, or why one of them is not safe. */
function proveAll(json: JsonObject): ReadonlyMap<string, PatternCost> | string {
  const effort = { left: 1_000_000 };
  const costs = new Map<string, PatternCost>();
  for (const [source, at] of patternsIn(json)) {
    const cost = costOf(source, effort);
    if (typeof cost === "string") return `${at} cannot be used: ${cost}; ${remedy}`;
    costs.set(source, cost);
  }
  return costs;
}

const remedy = "write the pattern in another way, or set trustPatterns of the server";

/** What a pattern costs, or why it is not safe. */
function costOf(source: string, effort: Effort): PatternCost | string {
  const safe = safePattern(source, effort);
  if (!safe.ok) return safe.problem;
  const folded = safePattern(source, effort, { foldsCase: true });
  return !folded.ok && folded.problem.includes("exponential") ? folded.problem : safe.cost;
}

/** A linear pattern may take so many steps for a character without a look at the text. */
const maxFreeBits = 3;

/** Every pattern, and where it is. */
function patternsIn(root: JsonObject): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (schema: Json, at: string): void => {
    if (!isObject(schema)) return;
    for (const [name, value] of entries(schema)) {
      const here = at + token(name);
      for (const [source, below] of patternsOf(name, value)) if (!found.has(source)) found.set(source, here + below);
      for (const [below, subschema] of vocabulary.get(name)?.subschemas(value) ?? []) visit(subschema, here + below);
    }
  };
  visit(root, "#");
  return found;
}

/** The patterns of one keyword, and where they are in its value. */
function patternsOf(name: string, value: Json): readonly (readonly [source: string, at: string])[] {
  if (name === "pattern" && typeof value === "string") return [[value, ""]];
  return name === "patternProperties" ? entries(value).map(([source]) => [source, token(source)] as const) : [];
}

/**
 * Looks at every text that a pattern may be tried on, whichever branch of the
 * schema would have it tried, and adds up what that may take.
 */
function createGuard(
  root: JsonObject,
  costs: ReadonlyMap<string, PatternCost>,
): (value: unknown) => Checked<never> | undefined {
  const fuel = new Fuel();
  return (value) => {
    try {
      fuel.fill(maxSteps);
      weigh({ root, costs, fuel }, root, value);
      return undefined;
    } catch (error) {
      if (error instanceof OutOfFuel) return refused("limit", `the check was not tried: ${error.message}`);
      return refused("limit", "the check was not tried: the value is nested too deeply");
    }
  };
}

interface Weighing {
  readonly root: JsonObject;
  readonly costs: ReadonlyMap<string, PatternCost>;
  readonly fuel: Fuel;
}

/** Steps that one look takes. */
const perLook = 100;

function weigh(weighing: Weighing, schema: Json | undefined, value: unknown): void {
  weighing.fuel.burn(perLook);
  if (!isObject(schema)) return;
  if (typeof schema.$ref === "string") weigh(weighing, targetOf(weighing.root, schema.$ref), value);
  for (const [name, operand] of entries(schema)) {
    const keyword = vocabulary.get(name);
    if (keyword?.inPlace) for (const [, subschema] of keyword.subschemas(operand)) weigh(weighing, subschema, value);
  }
  if (typeof value === "string") weighText(weighing, schema.pattern, value);
  else if (Array.isArray(value)) weighItems(weighing, schema, value);
  else if (isObject(value)) weighMembers(weighing, schema, value);
}

function weighText({ costs, fuel }: Weighing, pattern: Json | undefined, text: string): void {
  const cost = typeof pattern === "string" ? costs.get(pattern) : undefined;
  if (cost === undefined) return;
  const steps = patternSteps(cost, text.length);
  if (steps > maxSteps) {
    throw new OutOfFuel(`a text of ${text.length} characters is too long for the pattern ${pattern}`);
  }
  fuel.burn(steps);
}

function weighItems(weighing: Weighing, schema: JsonObject, items: readonly unknown[]): void {
  const { prefixItems, items: rest, contains, unevaluatedItems } = schema;
  const first: readonly Json[] = Array.isArray(prefixItems) ? prefixItems : [];
  const others = [rest, contains, unevaluatedItems].filter((one) => one !== undefined);
  for (const [index, item] of items.entries()) {
    for (const one of index < first.length ? [first[index], ...others] : others) weigh(weighing, one, item);
  }
}

function weighMembers(weighing: Weighing, schema: JsonObject, object: JsonObject): void {
  const { properties, propertyNames, additionalProperties, unevaluatedProperties } = schema;
  const known = isObject(properties) ? properties : {};
  const patterns = entries(schema.patternProperties);
  for (const [name, member] of entries(object)) {
    if (propertyNames !== undefined) weigh(weighing, propertyNames, name);
    for (const [source, below] of patterns) {
      weighText(weighing, source, name);
      weigh(weighing, below, member);
    }
    const own = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    for (const one of [own, unevaluatedProperties]) if (one !== undefined) weigh(weighing, one, member);
  }
}

/** What a reference into the same document leads to. Others lead nowhere here, nor do they for the library. */
function targetOf(root: JsonObject, reference: string): Json | undefined {
  return reference.startsWith("#") ? referenceKeys(reference).reduce<Json | undefined>(own, root) : undefined;
}
