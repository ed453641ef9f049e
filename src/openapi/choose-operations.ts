import { McpError } from "../protocol/errors.ts";
import { toMatcher } from "../std/glob.ts";
import type { FoundOperation } from "./operation.ts";

export interface OperationChoice {
  /**
   * Operations to take: `listPets` and `list*` are operation ids, `tag:pets` is a tag, `/pets/*` a path, `GET /pets/*` a
   * method and a path, and `GET *` a method. `*` stands for any characters. Default: all that are not deprecated.
   */
  readonly include?: readonly string[] | undefined;
  /** Operations to leave out, written in the same way. Wins over `include`. Default: none. */
  readonly exclude?: readonly string[] | undefined;
}

/**
 * The operations that were chosen. A deprecated one is among them only where `include` has it. Throws
 * `invalid-definition` for a rule that no operation fits: it is misspelled.
 */
export function chooseOperations<T extends FoundOperation>(
  operations: readonly T[],
  { include, exclude = [] }: OperationChoice,
): readonly T[] {
  for (const [option, rules] of Object.entries({ include: include ?? [], exclude })) {
    if (!Array.isArray(rules)) throw unfit(option, "must be a list of rules");
    const idle = rules.find((rule) => !operations.some(toRule(rule, option)));
    if (idle !== undefined) throw unfit(option, `has ${JSON.stringify(idle)}, which no operation of the document fits`);
  }
  const isIncluded = include === undefined ? (it: T) => !it.isDeprecated : anyOf(include, "include");
  const isExcluded = anyOf(exclude, "exclude");
  return operations.filter((operation) => isIncluded(operation) && !isExcluded(operation));
}

type Rule = (operation: FoundOperation) => boolean;

function anyOf(rules: readonly string[], option: string): Rule {
  const all = rules.map((rule) => toRule(rule, option));
  return (operation) => all.some((fits) => fits(operation));
}

function toRule(rule: unknown, option: string): Rule {
  if (typeof rule !== "string" || rule === "") throw unfit(option, "must be a list of texts");
  const [, method, path] = /^(?:(GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE) )?([/*].*)$/s.exec(rule) ?? [];
  if (path !== undefined && (method !== undefined || path.startsWith("/"))) {
    const fits = toMatcher([path]);
    return (operation) => (method === undefined || operation.method === method) && fits(operation.path);
  }
  const tag = rule.startsWith("tag:") ? toMatcher([rule.slice(4)]) : undefined;
  if (tag !== undefined) return ({ tags }) => tags.some(tag);
  const named = toMatcher([rule]);
  return ({ operationId, method: verb, path: at }) => named(operationId ?? `${verb} ${at}`);
}

function unfit(option: string, problem: string): McpError {
  return new McpError("invalid-definition", `${option} of openApi ${problem}`, { data: { member: option } });
}
