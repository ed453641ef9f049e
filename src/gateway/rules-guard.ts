import type { CallGuard, GuardSubject } from "../host/call-guard.ts";
import type { HostTool } from "../host/host-tool.ts";
import { McpError } from "../protocol/errors.ts";
import type { Method } from "../protocol/methods.ts";
import type { ClientInfo } from "../protocol/peer.ts";
import type { CallOf, Outcome, OutcomeOf } from "../protocol/service.ts";
import { quote } from "../std/text.ts";
import { type ApprovedCalls, argumentsOf } from "./approved-calls.ts";
import type { CallAudit } from "./call-audit.ts";
import { callerOf, type GroupsOf } from "./caller.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { type Redaction, redact } from "./redact.ts";
import type { CallerRules, Rulebook, Ruling, SubjectRules } from "./rulebook.ts";

export interface RulesGuardOptions {
  readonly book: Rulebook;
  /** True refuses nothing, and says what would have been. */
  readonly dryRun: boolean;
  readonly groupsOf: GroupsOf | undefined;
  readonly approved: ApprovedCalls;
  readonly redactions: ReadonlyMap<CompiledRule, Redaction>;
  /** Counts a call for the rules that limit rates: the refusal of a call that is one too many. */
  readonly rates: ReadonlyMap<CompiledRule, (call: CallOf) => Promise<Refused | undefined>>;
  readonly audit: CallAudit | undefined;
}

export type Refused = Outcome & { readonly kind: "failed" };

/** Does what the rules of a gateway say, for every call of its clients. */
export function createRulesGuard(options: RulesGuardOptions): CallGuard {
  const { book, dryRun, groupsOf, audit } = options;
  const isOpen = book.rules.length === 0 && !book.denyByDefault;
  const mode = isOpen ? "open" : dryRun ? "report" : "enforce";
  const known = new WeakMap<NonNullable<ClientInfo["auth"]>, CallerRules>();
  const ofNobody = book.rulesFor(callerOf({ auth: undefined } as never, groupsOf));
  const enforce = createEnforcer(options);
  const report = createReporter(options);

  const rulesOf = ({ peer }: CallOf): CallerRules => {
    const { auth } = peer;
    if (auth === undefined) return ofNobody;
    const rules = known.get(auth) ?? book.rulesFor(callerOf(peer, groupsOf));
    known.set(auth, rules);
    return rules;
  };

  return {
    mode,
    sees: (caller, subject) => mode !== "enforce" || rulesOf(caller).on(subject).isListed,
    seesServer: (caller, server) => mode !== "enforce" || rulesOf(caller).seesServer(server),
    shown: (caller, tool) => (mode === "enforce" ? shownTool(rulesOf(caller), tool) : tool),
    pass(subject, call, send) {
      const rules = rulesOf(call).on(subject);
      const ruling = rulingOf(rules, call);
      audit?.note(call, { server: subject.server, decision: decisionOf(ruling), rule: nameOf(ruling) });
      if (ruling.action === "allow" && ruling.also.length === 0) return send(call);
      const judged: JudgedCall<typeof call.method> = { subject, rules, ruling, call, send };
      return dryRun ? report(judged) : enforce(judged);
    },
  };
}

interface JudgedCall<M extends Method> {
  readonly subject: GuardSubject;
  readonly rules: SubjectRules;
  readonly ruling: Ruling;
  readonly call: CallOf<M>;
  send(call: CallOf<M>): Promise<OutcomeOf<M>>;
}

/** Calls that do something. Others are about what was decided when they did, or about what may be done. */
const acts: ReadonlySet<Method> = new Set<Method>(["tools/call", "prompts/get", "resources/read"]);

function rulingOf(rules: SubjectRules, call: CallOf): Ruling {
  if (acts.has(call.method)) return rules.decide(argumentsOf(call));
  // Who may not call a tool any more may still end what runs.
  return call.method === "tasks/cancel" ? { ...rules.later, action: "allow" } : rules.later;
}

function createEnforcer({ approved, redactions, rates, audit }: RulesGuardOptions) {
  const sendAllowed = async <M extends Method>(judged: JudgedCall<M>): Promise<OutcomeOf<M>> => {
    const { subject, ruling, call, send } = judged;
    if (ruling.action !== "approve" || ruling.by === undefined) return send(call);
    const onApproved = (approvedBy: string): void => audit?.note(call, { approvedBy });
    return approved.send({ subject, by: ruling.by, call, send, onApproved });
  };

  return async <M extends Method>(judged: JudgedCall<M>): Promise<OutcomeOf<M>> => {
    const { rules, ruling, call } = judged;
    if (ruling.action === "deny") throw rules.isListed ? denied(call, ruling) : unknown(judged);
    for (const rule of acts.has(call.method) ? ruling.also : []) {
      const refused = await rates.get(rule)?.(call);
      if (refused === undefined) continue;
      audit?.note(call, { decision: "rate", rule: rule.name });
      return refused as OutcomeOf<M>;
    }
    const hiding = ruling.also.flatMap((rule) => redactions.get(rule) ?? []);
    const outcome = await sendAllowed(judged);
    return hiding.length === 0 ? outcome : redact(outcome, hiding);
  };
}

/** Lets everything pass, and counts for rates as if it did not. */
function createReporter({ rates, audit }: RulesGuardOptions) {
  return async <M extends Method>({ ruling, call, send }: JudgedCall<M>): Promise<OutcomeOf<M>> => {
    audit?.note(call, { isDryRun: true });
    if (ruling.action !== "deny" && acts.has(call.method)) {
      for (const rule of ruling.also) {
        const refused = await rates.get(rule)?.(call);
        if (refused !== undefined) audit?.note(call, { decision: "rate", rule: rule.name });
      }
    }
    return send(call);
  };
}

function decisionOf({ action, also }: Ruling): "allow" | "deny" | "approve" | "redact" {
  return action === "allow" && also.some(({ rule }) => rule.action === "redact") ? "redact" : action;
}

function nameOf(ruling: Ruling): string | undefined {
  if (decisionOf(ruling) !== "redact") return ruling.by?.name;
  return ruling.also.find(({ rule }) => rule.action === "redact")?.name;
}

/** The tool without a promise that what is hidden might break. */
function shownTool(rules: CallerRules, tool: HostTool): HostTool {
  if (tool.outputSchema === undefined) return tool;
  const { also } = rules.on({ kind: "tool", server: tool.server, name: tool.localName, tool }).later;
  if (also.every(({ rule }) => rule.action !== "redact")) return tool;
  const { outputSchema: _, ...rest } = tool;
  return rest;
}

function denied(call: CallOf, { by }: Ruling): McpError {
  const why = by === undefined ? "no rule of the gateway allows it" : `denied by ${by.label} of the gateway`;
  const data = { by: "policy", rule: by?.name ?? "denyByDefault" };
  return new McpError("denied", `${namedIn(call)} must not be called with these arguments: ${why}`, { data });
}

/** The error of a name that leads nowhere. */
function unknown({ call, subject: { kind } }: JudgedCall<Method>): McpError {
  const name = namedIn(call);
  if (kind === "tool" || kind === "prompt") {
    const data = { reason: `unknown-${kind}`, name, similar: [] };
    return new McpError("invalid-params", `unknown ${kind} ${quote(name)}`, { data });
  }
  return new McpError("resource-not-found", `no server has the resource ${name}`, { data: { uri: name } });
}

/** What a call is about, in the words of its caller. */
function namedIn({ params }: CallOf): string {
  const { name, uri, ref } = params as { name?: unknown; uri?: unknown; ref?: { uri?: unknown; name?: unknown } };
  return String(name ?? uri ?? ref?.uri ?? ref?.name ?? "").slice(0, 256);
}
