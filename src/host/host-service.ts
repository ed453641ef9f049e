import { asJson } from "../json/json.ts";
import { type Failure, McpError, toFailure } from "../protocol/errors.ts";
import { degradedKey } from "../protocol/meta.ts";
import {
  type Cacheable,
  type DiscoverResult,
  isDescribed,
  type Method,
  type Params,
  type Result,
} from "../protocol/methods.ts";
import type { Implementation, ServerCapabilities } from "../protocol/peer.ts";
import { revisions } from "../protocol/revision.ts";
import { type Call, type CallOf, type Outcome, type OutcomeOf, onAbort, type Service } from "../protocol/service.ts";
import { changeToNotification, honoured, isWanted } from "../protocol/subscription.ts";
import { tasksExtension } from "../protocol/task.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import type { Clock } from "../std/clock.ts";
import { withListHints, withReadScope } from "./caching-hints.ts";
import { type CallGuard, type GuardSubject, guardListings } from "./call-guard.ts";
import type { CallSender } from "./call-sender.ts";
import { changesFor } from "./caller-changes.ts";
import type { CallerShares } from "./caller-shares.ts";
import type { FindTool, Route } from "./calls.ts";
import type { ChangeFeed, ResourceRef } from "./change-feed.ts";
import { createCollisionReport } from "./collision-report.ts";
import { isAway } from "./connection-state.ts";
import { createGuardedTools } from "./guarded-tools.ts";
import { type Handles, unknownTask } from "./handles.ts";
import type { HostView, ServerSlots } from "./host-view.ts";
import type { CallerListings } from "./list-cache.ts";
import type { LockGate } from "./lock-check.ts";
import type { Outward } from "./outward.ts";
import type { OwnConnections } from "./own-connections.ts";
import { createResourceCalls } from "./resource-calls.ts";
import type { Results } from "./results.ts";
import { createSeenResources, type SeenResources } from "./seen-resources.ts";
import { createServedPrompts, type ServedPrompts } from "./served-prompts.ts";
import { createServedTools, type ServedPage } from "./served-tools.ts";
import { soon } from "./server-changes.ts";
import type { ListKind, ServerSlot } from "./server-slot.ts";
import { type HandedCall, referenceOf, type SlotSender } from "./slot-sender.ts";
import type { HostEvent } from "./status.ts";
import type { TaskMethod } from "./task-calls.ts";

export interface HostServiceOptions extends Omit<ServerProxyOptions, "find" | "findPrompt" | "seen"> {
  readonly listings: CallerListings;
  readonly changes: ChangeFeed;
  readonly info: Implementation;
  readonly gate: LockGate;
  readonly view: HostView;
  /** How many entries a page of a list has at most. */
  readonly pageSize: number;
}

/** A host as a server. */
export interface HostService {
  readonly service: Service;
  /** Forgets where names lead: something has changed. */
  forget(): void;
}

/** Undefined for what a host does not answer. */
type Handlers = { readonly [M in Method]: ((call: Call<M>) => Promise<Outcome<M>>) | undefined };

/**
 * A host as a server, or the part of it that is in a view: tools and prompts have the names of the view, resources their own
 * URIs. Calls are handed on as they are, so that questions of modern servers reach the caller; older servers ask the host.
 */
export function createHostService(given: HostServiceOptions): HostService {
  const { results, tell, view, guard } = given;
  const options = { ...given, listings: guardListings(given.listings, guard), seen: createSeenResources() };
  const onCollisions = createCollisionReport(view.name, tell);
  const tools = createServedTools({ ...options, onCollisions });
  const prompts = createServedPrompts({ ...options, onCollisions });
  const proxy = createServerProxy({ ...options, find: tools.find, findPrompt: prompts.find });
  const resources = createResourceCalls({ ...options, uiOwners: tools.uiOwners, pass: proxy.to });

  const toOutcome = async <P extends Cacheable>(call: CallOf, kind: ListKind, { page, listing }: ServedPage<P>) => {
    const result = await withListHints(page, { kind, call, listing }, options);
    return { kind: "complete", result } as const;
  };

  const handlers: Handlers = {
    "server/discover": async (call) => ({ kind: "complete", result: describe(options, call) }),
    "tools/list": async (call) => toOutcome(call, "tools", await tools.list(call)),
    "tools/call": proxy.tool,
    "prompts/list": async (call) => toOutcome(call, "prompts", await prompts.list(call)),
    "prompts/get": proxy.prompt,
    "resources/list": async (call) => toOutcome(call, "resources", await resources.list(call)),
    "resources/templates/list": async (call) => toOutcome(call, "resourceTemplates", await resources.templates(call)),
    "resources/read": async (call) => {
      const page = results?.read(call.params.uri, call.peer.auth?.principal);
      if (page !== undefined) return { kind: "complete", result: page };
      const outcome = await resources.read(call);
      return outcome.kind === "complete" ? { ...outcome, result: withReadScope(outcome.result, call) } : outcome;
    },
    "completion/complete": (call) =>
      call.params.ref.type === "ref/prompt" ? proxy.completePrompt(call) : resources.complete(call),
    "subscriptions/listen": (call) => listen(call, options, resources.ownerOf),
    "tasks/get": proxy.task,
    "tasks/update": proxy.task,
    "tasks/cancel": proxy.task,
    "tasks/result": proxy.task,
    "tasks/list": undefined,
    notification: undefined,
  };

  /** A method that nobody here knows is for the server of a view that has no other. */
  const passUnknown = (call: CallOf): Promise<Outcome> => {
    const slot = view.only === undefined ? undefined : options.slots.get(view.only);
    if (slot === undefined || guard?.seesServer(call, slot.name) === false) return refuse(unknownMethod(call.method));
    if (guard?.mode === "enforce") return refuse(unjudged(call.method));
    return proxy.to(slot, call, call.params);
  };

  const service = async (call: Call): Promise<Outcome> => {
    const handle = handlerOf(handlers, call.method) ?? (isDescribed(call.method) ? undefined : passUnknown);
    if (handle === undefined) return failed(unknownMethod(call.method));
    try {
      return await handle(call);
    } catch (error) {
      const isTold = error instanceof McpError;
      const failure: Failure = isTold ? toFailure(error) : { code: "internal", message: `${call.method} failed` };
      return { kind: "failed", failure, cause: error };
    }
  };
  return { service: service as Service, forget: tools.forget };
}

function handlerOf(handlers: Handlers, method: Method): ((call: Call) => Promise<Outcome>) | undefined {
  return Object.hasOwn(handlers, method) ? (handlers[method] as (call: Call) => Promise<Outcome>) : undefined;
}

async function refuse(failure: Failure): Promise<Outcome> {
  return failed(failure);
}

function unknownMethod(method: string): Failure {
  return { code: "method-not-found", message: `unknown method ${method}` };
}

function unjudged(method: string): Failure {
  const message = `${method} must not be called: it is not a method of the protocol, and rules cannot judge it`;
  return { code: "denied", message, data: { by: "policy", rule: "methods of the protocol only" } };
}

/** All that a host may have. Which of its servers has what may change at any time. */
const capabilities: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  completions: {},
  logging: {},
  extensions: { [tasksExtension]: {} },
};

/** Says what the servers that are connected tell models: nobody is waited for. */
function describe({ slots: all, info, gate, view, guard }: HostServiceOptions, caller: CallOf): DiscoverResult {
  const slots = [...all.values()].filter(({ name }) => guard?.seesServer(caller, name) !== false);
  const serverInfo = view.name === "" ? info : { ...info, name: `${info.name}/${view.name}` };
  const own = view.only === undefined ? undefined : slots[0]?.member.line?.client.server.capabilities;
  const instructions = view.instructions ?? instructionsOf(slots, gate, view);
  return {
    supportedVersions: [...revisions].reverse(),
    capabilities: own === undefined ? capabilities : withExtensionsOf(own),
    ...(instructions !== "" && { instructions }),
    serverInfo,
    ...degradedIn(slots),
  };
}

/** Names the servers that should be there and are not, in a result that nobody keeps. */
function degradedIn(slots: readonly ServerSlot[]): Pick<DiscoverResult, "_meta"> {
  const names = slots.filter(({ member }) => isAway(member.state)).map(({ name }) => name);
  return names.length === 0 ? {} : { _meta: { [degradedKey]: names } };
}

/** What a view of a single server has, with the extensions of that server. */
function withExtensionsOf({ extensions, experimental }: ServerCapabilities): ServerCapabilities {
  return {
    ...capabilities,
    extensions: { ...extensions, ...capabilities.extensions },
    ...(experimental && { experimental }),
  };
}

function instructionsOf(slots: readonly ServerSlot[], gate: LockGate, { only }: HostView): string {
  const texts = slots.flatMap(({ name, member }) => {
    const text = gate.instructions(name, member.line?.client.server.instructions);
    if (text === undefined) return [];
    return name === only ? [text] : [`# ${name}\n\n${text}`];
  });
  return texts.join("\n\n");
}

/** Tells of changes until the call ends. A resource is told of by the URI that the client has asked for. */
async function listen(
  call: Call<"subscriptions/listen">,
  options: Pick<HostServiceOptions, "changes" | "clock" | "slots" | "own" | "guard">,
  ownerOf: (uri: string, caller: CallOf) => Promise<ResourceRef | undefined>,
): Promise<Outcome<"subscriptions/listen">> {
  const filter = honoured(call.params.notifications, capabilities);
  const over = new AbortController();
  onAbort(call, () => over.abort());
  const names = new Map<string, string>();
  const refs = await Promise.all(
    (filter.resourceSubscriptions ?? []).map(async (uri) => {
      const ref = await ownerOf(uri, call);
      const subject = ref && ({ kind: "resource", server: ref.server, name: ref.uri } as const);
      if (subject !== undefined && options.guard?.sees(call, subject) === false) return undefined;
      if (ref !== undefined) names.set(`${ref.server} ${ref.uri}`, uri);
      return ref;
    }),
  );
  const resources = refs.filter((ref) => ref !== undefined);
  const feed = await changesFor(call, { resources, signal: over.signal }, options);
  // One silent server does not keep others from being heard: whatever is confirmed late counts as changed then.
  await soon(feed.ready, options.clock);
  call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
  for await (const { server, ...change } of feed) {
    if (!options.slots.has(server)) continue;
    const told =
      change.kind === "resource" ? { ...change, uri: names.get(`${server} ${change.uri}`) ?? change.uri } : change;
    if (!isWanted(told, filter)) continue;
    const [method, params] = changeToNotification(told);
    await call.notify(method, params);
  }
  return { kind: "complete", result: {} };
}

function failed(failure: Failure): Outcome {
  return { kind: "failed", failure };
}

/** Hands calls on to the server they are for. */
interface ServerProxy {
  /** To a server, with other parameters. For calls that do no harm when they are sent twice. */
  to<M extends Method>(slot: ServerSlot, call: CallOf<M>, params: Params<M>): Promise<OutcomeOf<M>>;
  tool(call: Call<"tools/call">): Promise<Outcome<"tools/call">>;
  prompt(call: Call<"prompts/get">): Promise<Outcome<"prompts/get">>;
  completePrompt(call: Call<"completion/complete">): Promise<Outcome<"completion/complete">>;
  /** The id of a task is the one that the host gave to this caller. */
  task<M extends TaskMethod>(call: CallOf<M>): Promise<OutcomeOf<M>>;
}

interface ServerProxyOptions {
  readonly slots: ServerSlots;
  readonly find: FindTool;
  readonly findPrompt: ServedPrompts["find"];
  readonly sender: SlotSender;
  readonly callSender: CallSender;
  /** Cuts what is too large; absent where nothing is. */
  readonly results: Results | undefined;
  readonly gate: LockGate;
  readonly clock: Clock;
  readonly handles: Handles;
  readonly outward: Outward;
  readonly callers: CallerShares;
  /** Connections that callers have of their own, if they may have any. */
  readonly own: OwnConnections | undefined;
  /** Judges what callers may do, if anybody does. */
  readonly guard: CallGuard | undefined;
  /** Remembers what results have named to callers. */
  readonly seen: SeenResources;
  tell(event: HostEvent): void;
}

function createServerProxy(options: ServerProxyOptions): ServerProxy {
  const { slots, findPrompt, results, handles, outward, callers, own, sender, seen } = options;
  const { inShare, shown } = options.callSender;
  const tools = createGuardedTools(options);
  const by: OwnConnections["run"] = own === undefined ? (slot, call, _, send) => send(slot, call) : own.run;

  const to: ServerProxy["to"] = async <M extends Method>(shared: ServerSlot, call: CallOf<M>, params: Params<M>) => {
    const request = { kind: "request", params: asJson(params) } as const;
    const send = sender.request(params);
    const outcome = await tools.pass(subjectOf(shared.name, call.method, params), call, (passed) =>
      inShare(shared, passed, { isTask: false, send: () => by(shared, passed, request, send) }),
    );
    if (outcome.kind === "complete") seen.note(call, shared.name, outcome.result);
    return outcome;
  };

  const task = async <M extends TaskMethod>(call: CallOf<M>): Promise<OutcomeOf<M>> => {
    const ref = await handles.openTask(call, call.params.taskId);
    const slot = slots.get(ref.server);
    if (slot === undefined) throw unknownTask(call.params.taskId);
    const params = { ...call.params, taskId: ref.taskId };
    const request = { kind: "task", params: asJson(params) } as const;
    const outcome = await tools.pass(tools.subjectOfTask(slot, ref, call), call, (passed) =>
      shown(slot, passed, by(slot, passed, request, sender.task(params))),
    );
    callers.of(slot).remainders.hear(call.params.taskId, outcome);
    if (outcome.kind !== "complete") return outcome;
    seen.note(call, ref.server, "result" in outcome.result ? (outcome.result.result as object) : outcome.result);
    return { kind: "complete", result: taskResult(ref.server, call, outcome.result) };
  };

  const taskResult = <M extends TaskMethod>(server: string, call: CallOf<M>, result: Result<M>): Result<M> => {
    if (isTask(result)) {
      const whole = "result" in result ? { result: fitted("task", result.result as CallToolResult, call) } : {};
      const why = "failure" in result ? { failure: outward.failure(server, call, result.failure as Failure) } : {};
      return { ...result, ...whole, ...why, taskId: call.params.taskId };
    }
    return isToolResult(result) ? fitted("task", result, call) : result;
  };

  const fitted = (tool: string, given: CallToolResult, call: CallOf): CallToolResult => {
    const result = outward.result(call, given);
    return results === undefined ? result : results.fit(tool, result, { principal: call.peer.auth?.principal });
  };

  const sendTool = (route: Route, call: Call<"tools/call">, handed: HandedCall): Promise<OutcomeOf<"tools/call">> => {
    const request = { kind: "tool", name: route.localName } as const;
    const send = sender.tool(route, call, handed);
    return inShare<"tools/call">(route.slot, call, {
      get isTask() {
        return route.isTask;
      },
      send: () => by(route.slot, call, request, send),
    });
  };

  return {
    to,
    async tool(call) {
      const { name } = call.params;
      const handed = sender.handed(call);
      const found = tools.find(name, handed);
      const route = found instanceof Promise ? await found : found;
      const outcome = await tools.pass<"tools/call">(tools.subjectOf(route, call), call, (passed) =>
        sendTool(route, passed, passed === call ? handed : sender.handed(passed)),
      );
      if (outcome.kind !== "complete") return outcome;
      seen.note(call, route.slot.name, outcome.result);
      return { kind: "complete", result: fitted(route.localName, outcome.result, call) };
    },
    async prompt(call) {
      const { slot, name } = await findPrompt(call.params.name, call);
      return to(slot, call, { ...call.params, name });
    },
    async completePrompt(call) {
      const { ref } = call.params;
      if (ref.type !== "ref/prompt") throw new McpError("invalid-params", "the reference is none to a prompt");
      const { slot, name } = await findPrompt(ref.name, call);
      return to(slot, call, { ...call.params, ref: { ...ref, name } });
    },
    task,
  };
}

/** What a guard judges a call by, where that is neither a tool nor a task. */
function subjectOf(server: string, method: Method, params: object): GuardSubject | undefined {
  const reference = referenceOf(method, params);
  switch (reference?.type) {
    case undefined:
      return undefined;
    case "ref/prompt":
      return { kind: "prompt", server, name: reference.name };
    case "read":
      return { kind: "resource", server, name: reference.uri };
    case "ref/resource":
      return { kind: "template", server, name: reference.uri };
  }
}

function isTask<T extends object>(result: T): result is T & { readonly taskId: string } {
  return "taskId" in result;
}

function isToolResult<T extends object>(result: T): result is T & CallToolResult {
  return "content" in result;
}
