import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { own, referenceKeys } from "./json-pointer.ts";
import { type Effort, type PatternCost, patternSteps, safePattern } from "./pattern-cost.ts";
import { Fuel, maxSteps, OutOfFuel } from "./rule.ts";
import { type Checked, refused, type Validator } from "./validator.ts";
import { entries, token, vocabulary } from "./vocabulary.ts";

/** A check that does not match a pattern against a text if that could take too long. */
export interface GuardedCheck extends Pick<Validator, "check"> {
  /** The problem of a pattern. If there is one, every value is rejected. */
  readonly problem: string | undefined;
}

/**
 * Proves that the patterns in the JSON Schema of a Standard Schema are safe to match.
 * The library matches them itself, on texts of any length, so values are measured
 * first if the cost of a pattern is more than linear. JSON Schema does not publish
 * flags, so a pattern that is exponential with the flag `i` is rejected as well.
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

/** The costs of all patterns, or the problem of the first unsafe pattern. */
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

/** The cost of a pattern, or the reason why it is unsafe. */
function costOf(source: string, effort: Effort): PatternCost | string {
  const safe = safePattern(source, effort);
  if (!safe.ok) return safe.problem;
  const folded = safePattern(source, effort, { foldsCase: true });
  return !folded.ok && folded.problem.includes("exponential") ? folded.problem : safe.cost;
}

/** A linear pattern of up to 2 ** 3 steps for each character is matched without measuring the value. */
const maxFreeBits = 3;

/** The JSON Pointer of every pattern. */
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

/** The patterns of one keyword, each with its JSON Pointer relative to the value of the keyword. */
function patternsOf(name: string, value: Json): readonly (readonly [source: string, at: string])[] {
  if (name === "pattern" && typeof value === "string") return [[value, ""]];
  return name === "patternProperties" ? entries(value).map(([source]) => [source, token(source)] as const) : [];
}

/**
 * Creates the function that adds up the worst-case steps of all patterns that may be
 * matched against a value, in any branch of the schema. It returns a failed check if
 * the sum exceeds {@link maxSteps}.
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

/** Steps for each schema that is applied to a value. */
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

/** The target of a reference into the same document. References to other documents are ignored. */
function targetOf(root: JsonObject, reference: string): Json | undefined {
  return reference.startsWith("#") ? referenceKeys(reference).reduce<Json | undefined>(own, root) : undefined;
}
