import { series } from "./uri-template-series.ts";
import { end, type Found, literal, type Step, type Stops, startsAt, value } from "./uri-template-steps.ts";
import { type Expression, operatorRules, type Part } from "./uri-template-syntax.ts";
import { toTemplateUnits, toUnits } from "./uri-template-units.ts";

/**
 * What a URI says, by variable: a text, or a list where the variable is exploded.
 *
 * Has no prototype, so `__proto__` and `constructor` are names like any other.
 */
export type MatchedVariables = Readonly<Record<string, MatchedValue | undefined>>;

type MatchedValue = string | readonly string[];

/** Turns a template into the function that reads its URIs. */
export function toMatcher(parts: readonly Part[]): (uri: string) => MatchedVariables | undefined {
  const start = toTemplateUnits(parts[0]?.kind === "literal" ? parts[0].text : "");
  const steps = parts.flatMap(toSteps);
  const required = parts.flatMap(requiredNames);

  return (uri) => {
    const units = toUnits(uri);
    // Most URIs belong to another template, and this says so without a survey.
    if (units === undefined || !startsAt(units, start, 0)) return undefined;
    const template = steps.reduceRight((tail, step) => step(units, tail), end(units));
    if (!template.fits(0)) return undefined;
    const found: Found[] = [];
    template.read(0, found);
    const variables = merge(found);
    return variables !== undefined && required.every((name) => name in variables) ? variables : undefined;
  };
}

function toSteps(part: Part): readonly Step[] {
  if (part.kind === "literal") return [literal(toTemplateUnits(part.text))];
  return operatorRules[part.operator].named ? [namedStep(part)] : positionalSteps(part);
}

/** Named parameters in any order. The group may only be missing as a whole if each of them may. */
function namedStep({ operator, variables }: Expression): Step {
  const rule = operatorRules[operator];
  return series({
    heads: variables.map((variable) => ({ variable, name: toTemplateUnits(variable.name) })),
    lead: toTemplateUnits(rule.lead),
    separator: toTemplateUnits(rule.separator),
    stops: stopsAt(rule.stops),
    optional: rule.optional || variables.every(({ explode }) => explode),
    omitsEmpty: rule.optional,
  });
}

/** Values one after the other. A list that starts as it goes on, such as `{/a*}`, may have no members. */
function positionalSteps({ operator, variables }: Expression): readonly Step[] {
  const rule = operatorRules[operator];
  return variables.flatMap((variable, index) => {
    const lead = index === 0 ? rule.lead : rule.separator;
    if (!variable.explode) return [literal(toTemplateUnits(lead)), value(variable, stopsAt(rule.stops))];
    const list = series({
      heads: [{ variable, name: undefined }],
      lead: toTemplateUnits(lead),
      separator: toTemplateUnits(rule.separator),
      stops: stopsAt(rule.stops + rule.separator),
      optional: lead === rule.separator,
      omitsEmpty: false,
    });
    return [list];
  });
}

function stopsAt(chars: string): Stops {
  return new Set([...toTemplateUnits(chars), undefined]);
}

function requiredNames(part: Part): readonly string[] {
  if (part.kind === "literal" || operatorRules[part.operator].optional) return [];
  return part.variables.map(({ name }) => name);
}

/** One value per name. Undefined if a name that occurs more than once says different things. */
function merge(found: readonly Found[]): MatchedVariables | undefined {
  const whole: Record<string, MatchedValue> = Object.create(null);
  for (const { variable, value } of found) {
    const known = whole[variable.name];
    if (known === undefined || known.length < value.length) whole[variable.name] = value;
  }
  return found.every((occurrence) => isPartOf(occurrence, whole[occurrence.variable.name])) ? whole : undefined;
}

/** Looks only at as much of the whole as the occurrence has, so many short ones stay cheap. */
function isPartOf({ variable: { prefix }, value }: Found, whole: MatchedValue | undefined): boolean {
  if (typeof value === "string" && typeof whole === "string") {
    if (prefix === undefined) return value === whole;
    const length = Array.from(value).length;
    return length === prefix ? whole.startsWith(value) : length < prefix && value === whole;
  }
  if (typeof value === "string" || typeof whole !== "object") return false;
  return value.length === whole.length && value.every((member, index) => member === whole[index]);
}
