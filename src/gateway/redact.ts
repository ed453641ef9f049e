import { isObject, type Json, type JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { Method } from "../protocol/methods.ts";
import type { OutcomeOf } from "../protocol/service.ts";
import { type PatternCost, patternSteps, safePattern } from "../schema/pattern-cost.ts";
import { maxSteps } from "../schema/rule.ts";
import { labelOf } from "./read-rule.ts";
import type { GatewayRule } from "./rule.ts";
import { keysOf } from "./rule-conditions.ts";

/** What stands in the place of what is hidden. */
export const redacted = "[redacted]";

/** What a rule hides. */
export interface Redaction {
  readonly members: readonly (readonly string[])[];
  readonly patterns: readonly SafePattern[];
}

interface SafePattern {
  readonly expression: RegExp;
  readonly cost: PatternCost;
}

/** Throws `invalid-definition` for a pattern that might take too long. */
export function createRedaction(rule: GatewayRule, index: number): Redaction {
  const { members = [], patterns = [] } = rule.redact ?? {};
  const label = labelOf(rule, index);
  const effort = { left: 1_000_000 };
  const prove = (source: string): SafePattern => {
    const expression = toExpression(source);
    const proved = safePattern(source, effort);
    if (expression !== undefined && proved.ok) return { expression, cost: proved.cost };
    const problem = `${label} of the gateway: redact.patterns has ${JSON.stringify(source)}, which cannot be used`;
    const why = proved.ok ? "it is not a regular expression" : proved.problem;
    throw new McpError("invalid-definition", `${problem}: ${why}`, {
      data: { name: label, member: "redact.patterns" },
    });
  };
  return { members: [members].flat().map(keysOf), patterns: [patterns].flat().map(prove) };
}

/** Undefined for what is none. */
function toExpression(source: string): RegExp | undefined {
  try {
    return new RegExp(source, "gu");
  } catch {
    return undefined;
  }
}

/** The outcome of a call without what rules hide. The same where there is nothing of that in it. */
export function redact<M extends Method>(outcome: OutcomeOf<M>, redactions: readonly Redaction[]): OutcomeOf<M> {
  const hide = createHider(redactions);
  if (outcome.kind === "complete") {
    const result = hide.result(outcome.result as JsonObject);
    return result === outcome.result ? outcome : ({ ...outcome, result } as OutcomeOf<M>);
  }
  if (outcome.kind !== "failed") return outcome;
  const { failure } = outcome;
  const data = failure.data === undefined ? {} : { data: hide.data(failure.data) };
  return { kind: "failed", failure: { ...failure, message: hide.text(failure.message), ...data } };
}

interface Hider {
  /** A result of the protocol. Binary data is left as it is. */
  result(result: JsonObject): JsonObject;
  /** Data of a server. */
  data(value: Json): Json;
  text(text: string): string;
}

function createHider(redactions: readonly Redaction[]): Hider {
  const paths = redactions.flatMap(({ members }) => members);
  const patterns = redactions.flatMap(({ patterns }) => patterns);

  const hideText = (text: string): string => {
    let hidden = text;
    for (const { expression, cost } of patterns) {
      // What would take too long to look through is hidden as a whole.
      if (patternSteps(cost, hidden.length) > maxSteps * maxRuns) return redacted;
      hidden = hidden.replaceAll(expression, redacted);
    }
    return hidden;
  };
  const data = (value: Json): Json => mapTexts(hideMembers(value, paths), hideText);

  /** A text that is JSON is one with members. What is the same as the structured content is not parsed once more. */
  const textOf = (text: string, structured: Structured | undefined): string => {
    if (paths.length === 0 || !/^\s*[[{]/.test(text)) return hideText(text);
    if (structured?.before() === text) return structured.after();
    return hideText(hideInJson(text, paths));
  };

  const visit = (value: Json, structured: Structured | undefined): Json => {
    if (typeof value === "string") return textOf(value, structured);
    if (Array.isArray(value)) return mapItems(value, (item: Json) => visit(item, structured));
    if (!isObject(value)) return value;
    const isBinary = typeof value.mimeType === "string";
    const { structuredContent } = value as JsonObject;
    const own = structuredContent === undefined ? structured : toStructured(structuredContent, data);
    return mapMembers(value as JsonObject, (member, key) => {
      if (key === "type" || key === "blob" || (key === "data" && isBinary)) return member;
      return key === "structuredContent" && own !== undefined ? own.hidden : visit(member, own);
    });
  };

  return { data, text: hideText, result: (result) => visit(result, undefined) as JsonObject };
}

/** Texts of results are longer than values that schemas check. */
const maxRuns = 8;

/** Structured content, and what is left of it, as texts that are made when they are needed. */
interface Structured {
  readonly hidden: Json;
  before(): string;
  after(): string;
}

function toStructured(value: Json, hide: (value: Json) => Json): Structured {
  const hidden = hide(value);
  let texts: readonly [string, string] | undefined;
  const textsOf = (): readonly [string, string] => {
    texts ??= [JSON.stringify(value), JSON.stringify(hidden)];
    return texts;
  };
  return { hidden, before: () => textsOf()[0], after: () => textsOf()[1] };
}

/** A text that may be JSON, without members. What is nested too deeply to look through is hidden as a whole. */
function hideInJson(text: string, paths: readonly (readonly string[])[]): string {
  try {
    const parsed = JSON.parse(text) as Json;
    const hidden = hideMembers(parsed, paths);
    return hidden === parsed ? text : JSON.stringify(hidden);
  } catch (error) {
    return error instanceof SyntaxError ? text : redacted;
  }
}

/** The value without the members that paths lead to. */
function hideMembers(value: Json, paths: readonly (readonly string[])[]): Json {
  if (paths.length === 0 || typeof value !== "object" || value === null) return value;
  const hide = (member: Json, key: string): Json => {
    const rest = paths.flatMap((path) => after(path, key));
    return rest.some(({ length }) => length === 0) ? redacted : hideMembers(member, rest);
  };
  return Array.isArray(value)
    ? mapItems(value, (item: Json, index) => hide(item, String(index)))
    : mapMembers(value as JsonObject, hide);
}

/** What is left of a path after a member. */
function after(path: readonly string[], key: string): readonly (readonly string[])[] {
  const [first, ...rest] = path;
  if (first === "**") return [path, ...after(rest, key)];
  return first === "*" || first === key ? [rest] : [];
}

function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return mapItems(value, (item: Json) => mapTexts(item, change));
  return isObject(value) ? mapMembers(value as JsonObject, (member) => mapTexts(member, change)) : value;
}

/** The same list where nothing is different. */
function mapItems(items: readonly Json[], change: (item: Json, index: number) => Json): Json {
  const changed = items.map(change);
  return changed.every((item, index) => item === items[index]) ? (items as Json) : (changed as Json);
}

/** The same object where nothing is different. */
function mapMembers(given: JsonObject, change: (member: Json, key: string) => Json): JsonObject {
  let changed: Record<string, Json> | undefined;
  for (const [key, member] of Object.entries(given)) {
    if (member === undefined) continue;
    const next = change(member, key);
    if (next === member) continue;
    changed ??= { ...given } as Record<string, Json>;
    changed[key] = next;
  }
  return changed ?? given;
}
