import { areHints } from "../host/access.ts";
import type { GuardSubject } from "../host/call-guard.ts";
import { qualify } from "../host/host-tool.ts";
import type { JsonObject } from "../json/json.ts";
import type { GatewayCaller } from "./caller.ts";
import { checkRule, labelOf } from "./read-rule.ts";
import type { GatewayRule, RuleRef } from "./rule.ts";
import { createArgumentsCheck } from "./rule-conditions.ts";
import { createRuleGlobs, type Fit, type RuleGlobs } from "./rule-globs.ts";

/** A rule, ready to be asked. */
export interface CompiledRule extends RuleRef {
  readonly rule: GatewayRule;
  /** For people. */
  readonly label: string;
  /** Which condition a caller does not meet. Undefined when it meets all. */
  misfitOfCaller(caller: GatewayCaller): string | undefined;
  /** How it fits a subject before anything is known of arguments. `yes` is said only where arguments make no difference. */
  fit(subject: GuardSubject): SubjectFit;
  /** Which condition arguments do not meet. Undefined when they meet all. */
  misfitOfArguments(args: JsonObject | undefined): string | undefined;
  /** How it fits a server, whatever the subject. */
  fitServer(server: string): Fit;
}

interface SubjectFit {
  readonly fit: Fit;
  /** The condition that is not met, of what does not fit. */
  readonly because?: string;
}

/** Throws `invalid-definition` for a rule that is not understood. */
export function compileRule(rule: GatewayRule, index: number): CompiledRule {
  checkRule(rule, index);
  const { name = `rule ${index + 1}`, when, action } = rule;
  const [users, groups, servers] = [globsOf(rule.users), globsOf(rule.groups), globsOf(rule.servers)];
  const byKind = {
    tool: globsOf(rule.tools),
    prompt: globsOf(rule.prompts),
    resource: globsOf(rule.resources),
    template: globsOf(rule.resources),
  };
  const isAboutAll = Object.values(byKind).every((globs) => globs === undefined);
  const check = rule.arguments && createArgumentsCheck(rule.arguments, action === "allow");

  const fitName = ({ kind, server, name }: GuardSubject): Fit => {
    const globs = byKind[kind];
    if (globs === undefined) return isAboutAll ? "yes" : "no";
    if (kind === "template") return globs.fitTemplate(name);
    const isNamed = kind === "resource" ? fitsUri(globs, name, action) : globs.fits(qualify(server, name));
    return isNamed ? "yes" : "no";
  };

  const misfit = (subject: GuardSubject, named: Fit): string | undefined => {
    const { kind, tool } = subject;
    if (servers?.fits(subject.server) === false) return "servers";
    if (named === "no") return byKind[kind] === undefined ? "kind" : `${kind}s`;
    if (check !== undefined && !takesArguments.has(kind)) return "arguments";
    const isSaid = when === undefined || (kind === "tool" && (tool === undefined || areHints(when, tool.annotations)));
    return isSaid ? undefined : "when";
  };

  const fit = (subject: GuardSubject): SubjectFit => {
    const named = fitName(subject);
    const because = misfit(subject, named);
    if (because !== undefined) return { fit: "no", because };
    const isSure = named === "yes" && check === undefined && (when === undefined || subject.tool !== undefined);
    return { fit: isSure ? "yes" : "maybe" };
  };

  return {
    index,
    name,
    rule,
    label: labelOf(rule, index),
    misfitOfCaller({ principal, groups: mine }) {
      if (users !== undefined && (principal === undefined || !users.fits(principal))) return "users";
      return groups === undefined || mine.some(groups.fits) ? undefined : "groups";
    },
    fit,
    misfitOfArguments(args) {
      const path = check?.(args);
      return path === undefined ? undefined : `arguments: ${path}`;
    },
    fitServer(server) {
      if (servers?.fits(server) === false) return "no";
      if (isAboutAll) return check === undefined && when === undefined ? "yes" : "maybe";
      const prefix = qualify(server, "");
      const mayBe = [byKind.tool, byKind.prompt].some((globs) => globs?.mayBegin(prefix) === true);
      return mayBe || byKind.resource !== undefined ? "maybe" : "no";
    },
  };
}

/** Whether a URI fits as it is written and as servers may read it: what allows has to fit all, what does anything else one of them. */
function fitsUri(globs: RuleGlobs, uri: string, action: GatewayRule["action"]): boolean {
  const href = URL.canParse(uri) ? new URL(uri).href : uri;
  const spellings = [...new Set([uri, href, decoded(uri), decoded(href)])];
  return action === "allow" ? spellings.every(globs.fits) : spellings.some(globs.fits);
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

const takesArguments: ReadonlySet<GuardSubject["kind"]> = new Set(["tool", "prompt"]);

function globsOf(given: string | readonly string[] | undefined): RuleGlobs | undefined {
  return given === undefined ? undefined : createRuleGlobs([given].flat());
}
