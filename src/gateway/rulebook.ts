import { areHints } from "../host/access.ts";
import type { GuardSubject } from "../host/call-guard.ts";
import type { HostTool } from "../host/host-tool.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { GatewayCaller } from "./caller.ts";
import { type CompiledRule, compileRule } from "./compiled-rule.ts";
import type { GatewayRule } from "./rule.ts";

/** What rules say of a call. */
export interface Ruling {
  readonly action: "allow" | "deny" | "approve";
  /** The rule that says so. Undefined where none does. */
  readonly by: CompiledRule | undefined;
  /** Rules that are added to it: `redact` and `rate`. */
  readonly also: readonly CompiledRule[];
}

/** Rules, as they are for callers that they cannot tell apart. */
export interface CallerRules {
  /** What may be said of a subject before arguments are known. */
  on(subject: GuardSubject): SubjectRules;
  /** Whether anything of a server may be called. */
  seesServer(server: string): boolean;
}

/** Rules, as they are for some callers and one tool, prompt or resource. */
export interface SubjectRules {
  /** Whether it may be called with some arguments. */
  readonly isListed: boolean;
  decide(args: JsonObject | undefined): Ruling;
  /** What is said of a call whose arguments are not known: of a task that runs, or of a completion. */
  readonly later: Ruling;
}

export interface Rulebook {
  readonly rules: readonly CompiledRule[];
  readonly denyByDefault: boolean;
  rulesFor(caller: GatewayCaller): CallerRules;
}

/** Throws `invalid-definition` for a rule that is not understood. */
export function createRulebook(given: readonly GatewayRule[], denyByDefault: boolean): Rulebook {
  if (!Array.isArray(given)) throw new McpError("invalid-definition", "the option rules must be a list of rules");
  const rules = given.map(compileRule);
  checkNames(rules);
  const classes = new Map<string, CallerRules>();
  return {
    rules,
    denyByDefault,
    rulesFor(caller) {
      const fitting = rules.filter((rule) => rule.misfitOfCaller(caller) === undefined);
      const key = fitting.map(({ index }) => index).join();
      const known = classes.get(key) ?? createCallerRules(fitting, denyByDefault);
      if (classes.size < maxClasses) classes.set(key, known);
      return known;
    },
  };
}

/** What is counted for a rule, and what events say, is found by its name. */
function checkNames(rules: readonly CompiledRule[]): void {
  const names = new Set<string>();
  for (const { name, label } of rules) {
    if (names.has(name)) {
      const message = `${label} of the gateway: name ${JSON.stringify(name)} is that of an earlier rule; give each its own`;
      throw new McpError("invalid-definition", message, { data: { name: label, member: "name" } });
    }
    names.add(name);
  }
}

/** Callers fall into more classes only where somebody makes up groups. */
const maxClasses = 10_000;

function createCallerRules(rules: readonly CompiledRule[], denyByDefault: boolean): CallerRules {
  const ofTools = new WeakMap<HostTool, SubjectRules>();
  const permits = rules.filter(isPermit);
  return {
    on(subject) {
      const { tool } = subject;
      if (tool === undefined) return createSubjectRules(rules, subject, denyByDefault);
      const known = ofTools.get(tool) ?? createSubjectRules(rules, subject, denyByDefault);
      ofTools.set(tool, known);
      return known;
    },
    seesServer(server) {
      if (rules.some((rule) => rule.rule.action === "deny" && rule.fitServer(server) === "yes")) return false;
      return !denyByDefault || permits.some((rule) => rule.fitServer(server) !== "no");
    },
  };
}

function createSubjectRules(
  rules: readonly CompiledRule[],
  subject: GuardSubject,
  denyByDefault: boolean,
): SubjectRules {
  const fits = new Map(rules.map((rule) => [rule, rule.fit(subject).fit]));
  const fitting = rules.filter((rule) => fits.get(rule) !== "no");
  const denying = fitting.filter(({ rule }) => rule.action === "deny");
  const permitting = fitting.filter(isPermit);
  const adding = fitting.filter(({ rule }) => rule.action === "redact" || rule.action === "rate");
  const rest = denyByDefault ? "deny" : "allow";

  // What a server has not said of a tool counts as the worst.
  const isSure = ({ rule: { when } }: CompiledRule): boolean =>
    when === undefined || subject.tool !== undefined || areHints(when);

  const decide = (args: JsonObject | undefined): Ruling => {
    const holds = ({ misfitOfArguments }: CompiledRule): boolean => misfitOfArguments(args) === undefined;
    const by = denying.find(holds) ?? permitting.find((rule) => isSure(rule) && holds(rule));
    return { action: by === undefined ? rest : actionOf(by), by, also: adding.filter(holds) };
  };

  const always = denying.find((rule) => fits.get(rule) === "yes");
  const isListed = always === undefined && (permitting.length > 0 || !denyByDefault);
  const isFixed = fitting.every(({ rule }) => rule.arguments === undefined);
  const fixed = isFixed ? decide(undefined) : undefined;
  return {
    isListed,
    decide: (args) => fixed ?? decide(args),
    later: { action: isListed ? "allow" : "deny", by: isListed ? permitting[0] : always, also: adding },
  };
}

function isPermit({ rule: { action } }: CompiledRule): boolean {
  return action === "allow" || action === "approve";
}

function actionOf({ rule: { action } }: CompiledRule): Ruling["action"] {
  return action === "deny" || action === "approve" ? action : "allow";
}
