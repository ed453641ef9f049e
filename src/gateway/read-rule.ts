import { isObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../protocol/option-names.ts";
import type { ArgumentCondition, GatewayRule, RedactOptions, RuleRate } from "./rule.ts";
import { keysOf } from "./rule-conditions.ts";
import { maxGlobChars } from "./rule-globs.ts";

/** What is said of one rule is wrong. */
type Complain = (member: string, problem: string) => never;

/** Throws `invalid-definition`, which names the rule and the member, for a rule that is not understood whole. */
export function checkRule(rule: GatewayRule, index: number): void {
  const label = labelOf(rule, index);
  const complain: Complain = (member, problem) => {
    const data = { name: label, member };
    throw new McpError("invalid-definition", `${label} of the gateway: ${member} ${problem}`, { data });
  };
  if (!isObject(rule)) complain("the rule", 'must be an object such as { action: "deny", tools: "shop:*" }');
  checkOptionNames(`${label} of the gateway`, rule, ruleNames);
  if (!actions.includes(rule.action)) complain("action", `must be one of ${actions.join(", ")}`);
  if (rule.name !== undefined && !isText(rule.name)) complain("name", "must be a text that is not empty");
  for (const member of globMembers) checkGlobs(rule[member], member, complain);
  if (rule.arguments !== undefined) checkArguments(rule.arguments, complain);
  if (rule.when !== undefined) checkWhen(rule.when, label, complain);
  checkPayload(rule, label, complain);
}

/** What a rule is called where it has no name. */
export function labelOf(rule: GatewayRule, index: number): string {
  return isObject(rule) && isText(rule.name) ? `rule ${index + 1} (${rule.name})` : `rule ${index + 1}`;
}

const ruleNames: OptionNames<GatewayRule> = {
  action: true,
  name: true,
  users: true,
  groups: true,
  servers: true,
  tools: true,
  prompts: true,
  resources: true,
  arguments: true,
  when: true,
  approve: true,
  redact: true,
  rate: true,
};

const actions: readonly unknown[] = ["allow", "deny", "approve", "redact", "rate"];
const globMembers = ["users", "groups", "servers", "tools", "prompts", "resources"] as const;
const conditionNames: OptionNames<ArgumentCondition> = { equals: true, glob: true, oneOf: true, absent: true };
const hintNames = { readOnly: true, destructive: true, idempotent: true, openWorld: true };
const redactNames: OptionNames<RedactOptions> = { members: true, patterns: true };
const rateNames: OptionNames<RuleRate> = { limit: true, windowMs: true, by: true };

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** A list without a glob would hold for nothing: that is a mistake, and in a rule that denies a dangerous one. */
function checkGlobs(given: unknown, member: string, complain: Complain): void {
  if (given === undefined) return;
  const globs: readonly unknown[] = [given].flat();
  if (globs.length === 0) complain(member, "must not be an empty list: leave it out to mean everything");
  for (const glob of globs) {
    if (!isText(glob)) complain(member, "must be a glob, or a list of globs");
    else if (glob.length > maxGlobChars) complain(member, `has a glob of more than ${maxGlobChars} characters`);
    else if (/\p{Cc}/u.test(glob)) complain(member, "has a glob with control characters");
  }
}

function checkArguments(given: unknown, complain: Complain): void {
  if (!isObject(given) || Object.keys(given).length === 0) complain("arguments", "must name one argument or more");
  for (const [path, condition] of Object.entries(given)) {
    const member = `arguments[${JSON.stringify(path)}]`;
    if (keysOf(path).includes("")) complain(member, "must be a name with dots, or a JSON Pointer");
    checkCondition(condition, member, complain);
  }
}

function checkCondition(condition: unknown, member: string, complain: Complain): void {
  if (!isObject(condition)) complain(member, 'must be a condition such as { glob: "/home/*" }');
  checkOptionNames(member, condition, conditionNames);
  const named = Object.entries(condition).filter(([, value]) => value !== undefined);
  if (named.length !== 1) complain(member, "must have exactly one of equals, glob, oneOf, absent");
  const { glob, oneOf, absent } = condition as ArgumentCondition;
  checkGlobs(glob, member, complain);
  if (oneOf !== undefined && (!Array.isArray(oneOf) || oneOf.length === 0)) complain(member, "needs a list in oneOf");
  if (absent !== undefined && typeof absent !== "boolean") complain(member, "needs true or false in absent");
}

function checkWhen(given: unknown, label: string, complain: Complain): void {
  if (!isObject(given)) complain("when", "must be an object such as { readOnly: true }");
  checkOptionNames(`when of ${label}`, given, hintNames);
  const hints = Object.values(given).filter((hint) => hint !== undefined);
  if (hints.length === 0 || hints.some((hint) => typeof hint !== "boolean")) {
    complain("when", "must say true or false of one hint or more");
  }
}

/** What an action needs, and what belongs to another one. */
function checkPayload(rule: GatewayRule, label: string, complain: Complain): void {
  const { action, approve, redact, rate } = rule;
  for (const member of ["approve", "redact", "rate"] as const) {
    if (rule[member] !== undefined && action !== member) complain(member, `belongs to the action "${member}" only`);
  }
  if (approve !== undefined && approve !== "queue" && approve !== "caller")
    complain("approve", 'must be "queue" or "caller"');
  if (action === "redact") checkRedact(redact, label, complain);
  if (action === "rate") checkRate(rate, label, complain);
}

function checkRedact(given: unknown, label: string, complain: Complain): void {
  if (!isObject(given)) complain("redact", 'must say what to replace, such as { members: "customer.ssn" }');
  checkOptionNames(`redact of ${label}`, given, redactNames);
  const { members, patterns } = given as RedactOptions;
  if (members === undefined && patterns === undefined) complain("redact", "must have members or patterns");
  for (const [name, value] of Object.entries({ members, patterns })) {
    const texts: readonly unknown[] = [value ?? []].flat();
    const isWrong = texts.some((text) => !isText(text)) || (value !== undefined && texts.length === 0);
    if (isWrong) complain(`redact.${name}`, "must be a text, or a list of texts");
  }
  const unclear = [members ?? []].flat().find((path) => keysOf(path).includes("") || keysOf(path).at(-1) === "**");
  if (unclear !== undefined) complain("redact.members", `has ${JSON.stringify(unclear)}, which names no member`);
}

function checkRate(given: unknown, label: string, complain: Complain): void {
  if (!isObject(given)) complain("rate", "must be given, such as { limit: 100, windowMs: 60_000 }");
  checkOptionNames(`rate of ${label}`, given, rateNames);
  const { limit, windowMs, by } = given as unknown as RuleRate;
  for (const [name, value] of Object.entries({ limit, windowMs })) {
    if (!Number.isSafeInteger(value) || value < 1) complain(`rate.${name}`, "must be a whole number of at least 1");
  }
  if (!Number.isSafeInteger(limit * windowMs)) complain("rate", "allows more calls than can be counted");
  if (by !== undefined && by !== "caller" && by !== "all") complain("rate.by", 'must be "caller" or "all"');
}
