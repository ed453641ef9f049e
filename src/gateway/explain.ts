import type { GuardSubject } from "../host/call-guard.ts";
import type { HostTool } from "../host/host-tool.ts";
import type { JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { GatewayCaller } from "./caller.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { GatewayRuleAction, RuleRef } from "./rule.ts";
import type { Rulebook } from "./rulebook.ts";

/** A call that somebody could make. */
export interface ExplainRequest {
  /** Undefined for a caller that nobody has authenticated. */
  readonly principal?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  /** `tools/call`, the default, `prompts/get` or `resources/read`. */
  readonly method?: "tools/call" | "prompts/get" | "resources/read" | undefined;
  readonly server: string;
  /** What the server itself calls the tool or prompt, or the URI of the resource. */
  readonly name: string;
  readonly arguments?: JsonObject | undefined;
}

/** What the rules of a gateway say of a call, and why. */
export interface Decision {
  readonly action: "allow" | "deny" | "approve";
  /** The rule that decides. Undefined where none does: then `denyByDefault` decides. */
  readonly rule?: RuleRef | undefined;
  /** Rules that are added: `redact` and `rate`. */
  readonly also: readonly RuleRef[];
  /** Whether the caller finds it in lists. What is not listed is an unknown name to it. */
  readonly isListed: boolean;
  /** False where the server lists no such tool, or could not be asked. */
  readonly isKnown: boolean;
  /** All rules in their order. */
  readonly rules: readonly ExplainedRule[];
}

export interface ExplainedRule extends RuleRef {
  readonly action: GatewayRuleAction;
  readonly matches: boolean;
  /** Which condition is not met, of a rule that does not match. */
  readonly because?: string | undefined;
}

/** Explains what is decided about a call. The tool is the one that the server lists by the name, if it does. */
export function explain(book: Rulebook, request: ExplainRequest, tool: HostTool | undefined): Decision {
  const { principal, groups = [], server, name, arguments: args } = request;
  const kind = kindOf(request);
  const caller: GatewayCaller = { principal, groups, scopes: [], claims: {} };
  const subject: GuardSubject = { kind, server, name, tool };
  const rules = book.rulesFor(caller).on(subject);
  const { action, by, also } = rules.decide(args);
  return {
    action,
    ...(by !== undefined && { rule: toRef(by) }),
    also: also.map(toRef),
    isListed: rules.isListed && (kind !== "tool" || tool !== undefined),
    isKnown: kind !== "tool" || tool !== undefined,
    rules: book.rules.map((rule) => explainRule(rule, { caller, subject, args })),
  };
}

function kindOf({ method = "tools/call" }: ExplainRequest): "tool" | "prompt" | "resource" {
  const kind = kinds.get(method);
  if (kind !== undefined) return kind;
  throw new McpError("invalid-params", `explain takes a method of ${[...kinds.keys()].join(", ")}, not ${method}`);
}

const kinds: ReadonlyMap<string, "tool" | "prompt" | "resource"> = new Map([
  ["tools/call", "tool"],
  ["prompts/get", "prompt"],
  ["resources/read", "resource"],
]);

function toRef({ index, name }: CompiledRule): RuleRef {
  return { index, name };
}

interface Explained {
  readonly caller: GatewayCaller;
  readonly subject: GuardSubject;
  readonly args: JsonObject | undefined;
}

function explainRule(rule: CompiledRule, explained: Explained): ExplainedRule {
  const { caller, subject, args } = explained;
  const { action } = rule.rule;
  const misfit = rule.misfitOfCaller(caller) ?? rule.fit(subject).because ?? rule.misfitOfArguments(args);
  if (misfit === undefined) return { ...toRef(rule), action, matches: true };
  return { ...toRef(rule), action, matches: false, because: inWords(misfit, explained) };
}

function inWords(
  misfit: string,
  { caller: { principal, groups }, subject: { kind, server, name } }: Explained,
): string {
  switch (misfit) {
    case "users":
      return principal === undefined ? "users: the caller is not authenticated" : `users: none fits ${principal}`;
    case "groups":
      return groups.length === 0 ? "groups: the caller has none" : `groups: none fits ${groups.join(", ")}`;
    case "servers":
      return `servers: none fits ${server}`;
    case "kind":
      return `it is not about ${kind}s`;
    case "when":
      return kind === "tool" ? "when: the tool is said to be otherwise" : `when: ${kind}s have no hints`;
    case "arguments":
      return `arguments: ${kind}s have none`;
    default:
      return misfit.startsWith("arguments: ")
        ? `${misfit} does not meet its condition`
        : `${misfit}: none fits ${name}`;
  }
}
