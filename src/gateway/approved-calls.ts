import type { GuardSubject } from "../host/call-guard.ts";
import { canonicalText } from "../json/canonical.ts";
import { asJson, isObject, type JsonObject } from "../json/json.ts";
import { accountOf } from "../protocol/account.ts";
import { McpError } from "../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../protocol/input.ts";
import { isAtLeast } from "../protocol/logging.ts";
import type { Method } from "../protocol/methods.ts";
import { createSealer } from "../protocol/seal.ts";
import { type CallOf, type Notify, type OutcomeOf, signalOf, withCall } from "../protocol/service.ts";
import type { QuestionRuns } from "../server/question-runs.ts";
import { digestText } from "../std/digest.ts";
import type { Store } from "../store/store.ts";
import type { ApprovalQueue } from "./approval-queue.ts";
import type { CompiledRule } from "./compiled-rule.ts";

export interface ApprovedCallsOptions {
  readonly queue: ApprovalQueue;
  /** Puts the question to the caller, where it decides itself. */
  readonly runs: QuestionRuns;
  readonly store: () => Promise<Store>;
  readonly stateKeys: readonly string[];
  /** The time of day. */
  now(): number;
}

/** A call that a rule wants to be approved. */
export interface UnapprovedCall<M extends Method> {
  readonly subject: GuardSubject;
  readonly by: CompiledRule;
  readonly call: CallOf<M>;
  send(call: CallOf<M>): Promise<OutcomeOf<M>>;
  /** Hears who has approved. */
  onApproved(by: string): void;
}

/** Sends calls once they are approved. One approval is good for one call, with all that its server asks meanwhile. */
export interface ApprovedCalls {
  send<M extends Method>(unapproved: UnapprovedCall<M>): Promise<OutcomeOf<M>>;
}

export function createApprovedCalls({ queue, runs, store, stateKeys, now }: ApprovedCallsOptions): ApprovedCalls {
  const sealer = createSealer(stateKeys, { purpose: "plugbay gateway approval", taker: "openGateway" });

  /** The state that a call of an approved call goes on from. Undefined for a call that has to be approved first. */
  const goesOnFrom = async (call: CallOf, digest: string): Promise<Continuation | undefined> => {
    const opened = call.state === undefined ? undefined : await sealer.open(call.state);
    if (opened?.digest !== digest) return undefined;
    const { state, nonce, expires, by } = opened;
    const isTimely = typeof expires === "number" && expires > now() && typeof nonce === "string";
    const { values } = await store();
    const isFirst = isTimely && (await values.put(`approval used ${nonce}`, "", { version: null, ttlMs: stateTtlMs }));
    if (!isFirst) throw new McpError("denied", usedUp, { data: { by: "approval", reason: "approval-used" } });
    return { state: typeof state === "string" ? state : undefined, by: String(by) };
  };

  /** What an approved call comes back with when its server has asked: the approval goes with it. */
  const sealed = async <M extends Method>(outcome: OutcomeOf<M>, digest: string, by: string): Promise<OutcomeOf<M>> => {
    if (outcome.kind !== "input-required") return outcome;
    const { state = null } = outcome;
    const expires = now() + stateTtlMs;
    return { ...outcome, state: await sealer.seal({ digest, state, by, expires, nonce: crypto.randomUUID() }) };
  };

  const byQueue = async <M extends Method>(
    { subject, by, call, send, onApproved }: UnapprovedCall<M>,
    digest: string,
  ) => {
    const approver = await queue.approve({
      digest,
      account: accountOf(call),
      approval: toApproval(call, subject, by),
      signal: signalOf(call),
      onWaiting: () => tellWaiting(call, subject.name),
    });
    onApproved(approver);
    return sealed(await send(withCall(call, { notify: fromHereOn(call.notify) })), digest, approver);
  };

  const byCaller = <M extends Method>(unapproved: UnapprovedCall<M>, digest: string): Promise<OutcomeOf<M>> =>
    runs.run(unapproved.call, async (run) => {
      const { subject, call, by, onApproved } = unapproved;
      const answer = await run.ask(questionOf(call, subject), "approval");
      if (!isYes(answer)) {
        const message = `the call of ${subject.name} was not approved by its caller`;
        throw new McpError("declined", message, { data: { by: "approval", rule: by.name } });
      }
      onApproved(theCaller);
      const current = withCall(run.call as CallOf<M>, { state: undefined, answers: undefined });
      return sealed(await unapproved.send(current), digest, theCaller);
    });

  return {
    async send(unapproved) {
      const { call, subject, by } = unapproved;
      const digest = await digestOf(call, subject);
      const earlier = await goesOnFrom(call, digest);
      if (earlier !== undefined) {
        unapproved.onApproved(earlier.by);
        return sealed(await unapproved.send(withCall(call, { state: earlier.state })), digest, earlier.by);
      }
      return by.rule.approve === "caller" ? byCaller(unapproved, digest) : byQueue(unapproved, digest);
    },
  };
}

interface Continuation {
  readonly state: string | undefined;
  readonly by: string;
}

const theCaller = "the caller";
const usedUp = "the approval of this call was used already, or has expired: call again without the request state";

/** How long users may take to answer what the server of an approved call asks. */
const stateTtlMs = 86_400_000;

/** Binds an approval to who calls and to all that the call says. */
function digestOf(call: CallOf, { kind, server, name }: GuardSubject): Promise<string> {
  const { method } = call;
  return digestText(
    canonicalText({ account: accountOf(call), method, kind, server, name, arguments: argumentsOf(call) }),
  );
}

/** The arguments of a tool or prompt. */
export function argumentsOf({ params }: CallOf): JsonObject | undefined {
  const given = asJson(params).arguments;
  return isObject(given) ? (given as JsonObject) : undefined;
}

function toApproval(call: CallOf, { server, name }: GuardSubject, { label }: CompiledRule) {
  const given = argumentsOf(call);
  if (given !== undefined && JSON.stringify(given).length > maxArgumentChars) {
    const message = `the arguments of ${name} are too large to be approved: at most ${maxArgumentChars} characters`;
    throw new McpError("denied", message, { data: { by: "approval", rule: label } });
  }
  const { auth, info } = call.peer;
  return {
    ...(auth !== undefined && { principal: auth.principal }),
    ...(info !== undefined && { client: `${info.name} ${info.version}`.slice(0, 128) }),
    method: call.method,
    server,
    name,
    ...(given !== undefined && { arguments: given }),
    rule: label,
  };
}

/** Nobody can approve what cannot be shown. */
const maxArgumentChars = 65_536;

/** Tells the caller why nothing happens, as progress and as a log message, if it wants to hear of either. */
function tellWaiting(call: CallOf, name: string): void {
  const message = `${name} waits for approval`;
  if (call.wantsProgress) void call.notify("notifications/progress", { progress: 0, message });
  if (call.logLevel === undefined || !isAtLeast("info", call.logLevel)) return;
  void call.notify("notifications/message", { level: "info", logger: "gateway", data: message });
}

/** Progress only grows: what a server says of its beginning was said already. */
function fromHereOn(notify: Notify): Notify {
  return (method, params) => {
    const isOld = method === "notifications/progress" && typeof params.progress === "number" && params.progress <= 0;
    return isOld ? undefined : notify(method, params);
  };
}

const maxShownChars = 2_000;

function questionOf(call: CallOf, { server, name }: GuardSubject): Question {
  const text = JSON.stringify(argumentsOf(call) ?? {}, undefined, 2);
  const rest = text.length > maxShownChars ? `… (${text.length} characters in all)` : "";
  const message = `Allow this call of ${name} at ${server}?\n${text.slice(0, maxShownChars)}${rest}`;
  const properties = { approve: { type: "boolean", title: "Allow this call", default: false } };
  const requestedSchema = { type: "object", properties, required: ["approve"] };
  return { method: "elicitation/create", params: { message, requestedSchema } };
}

/** Only a form that was accepted with a yes in it is one. */
function isYes(answer: QuestionAnswer): boolean {
  const { action, content } = asJson(answer) as JsonObject;
  return action === "accept" && isObject(content) && content.approve === true;
}
