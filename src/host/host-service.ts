import { toAlias } from "../bridge/alias.ts";
import type { ClientConnection } from "../connect/create-connect.ts";
import { asJson, type JsonObject } from "../json/json.ts";
import { type Failure, McpError, toFailure } from "../protocol/errors.ts";
import type { DiscoverResult, Method, Params } from "../protocol/methods.ts";
import type { Implementation, ServerCapabilities } from "../protocol/peer.ts";
import { revisions } from "../protocol/revision.ts";
import {
  type Call,
  type CallOf,
  type Outcome,
  type OutcomeOf,
  onAbort,
  type Service,
  signalOf,
} from "../protocol/service.ts";
import { changeToNotification, honoured, isWanted } from "../protocol/subscription.ts";
import { tasksExtension } from "../protocol/task.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import type { Clock } from "../std/clock.ts";
import {
  createToolFinder,
  type FindTool,
  type Route,
  type Routes,
  type ToolCall,
  type ToolCalls,
  unknownPrompt,
} from "./calls.ts";
import type { ChangeFeed } from "./change-feed.ts";
import { type Delivery, outward, type Sending, through } from "./delivery.ts";
import { type HostPrompt, type HostTool, type Listing, qualify, splitName } from "./host-tool.ts";
import type { HostListOptions, Listings } from "./list-cache.ts";
import type { LockGate, Reference } from "./lock-check.ts";
import { createResourceCalls, openFor } from "./resource-calls.ts";
import type { Results } from "./results.ts";
import { soon } from "./server-changes.ts";
import type { ServerSlot } from "./server-slot.ts";
import { createTaskCalls, type TaskCalls, type TaskMethod } from "./task-calls.ts";

interface HostServiceOptions extends Omit<ServerProxyOptions, "find" | "prompts"> {
  readonly listings: Listings;
  readonly changes: ChangeFeed;
  readonly info: Implementation;
  readonly gate: LockGate;
}

type Handlers = { readonly [M in Method]?: (call: Call<M>) => Promise<Outcome<M>> };

/**
 * A host as a server: its tools and prompts have their aliases for names, its
 * resources their own URIs. Calls are handed on as they are, so that questions
 * of modern servers reach whoever calls; older servers ask the host.
 */
export function createHostService(options: HostServiceOptions): Service {
  const { slots, routes, listings, info, gate, results } = options;
  const find = createToolFinder({ routes, tools: listings.listTools, nameOf: ({ alias }) => alias });
  const proxy = createServerProxy({ ...options, find, prompts: listings.listPrompts });
  const resources = createResourceCalls({ slots, listings, pass: proxy.to });

  const handlers: Handlers = {
    "server/discover": async () => ({ kind: "complete", result: describe(slots, info, gate) }),
    "tools/list": async ({ signal }) => {
      const tools = await listings.listTools({ signal });
      return { kind: "complete", result: { tools: tools.map(toPlain) } };
    },
    "tools/call": proxy.tool,
    "prompts/list": async ({ signal }) => {
      const prompts = await listings.listPrompts({ signal });
      const placed = prompts.map(({ server, ...prompt }) => ({ ...prompt, name: promptName(server, prompt.name) }));
      return { kind: "complete", result: { prompts: placed } };
    },
    "prompts/get": proxy.prompt,
    "resources/list": async ({ signal }) => ({
      kind: "complete",
      result: { resources: await resources.list(signal) },
    }),
    "resources/templates/list": async ({ signal }) => ({
      kind: "complete",
      result: { resourceTemplates: await resources.templates(signal) },
    }),
    "resources/read": async (call) => {
      const page = results?.read(call.params.uri, call.peer.auth?.principal);
      return page === undefined ? resources.read(call) : { kind: "complete", result: page };
    },
    "completion/complete": (call) =>
      call.params.ref.type === "ref/prompt" ? proxy.completePrompt(call) : resources.complete(call),
    "subscriptions/listen": (call) => listen(call, options, resources.owners),
    "tasks/get": proxy.task,
    "tasks/update": proxy.task,
    "tasks/cancel": proxy.task,
    "tasks/result": proxy.task,
  };

  const service = async (call: Call): Promise<Outcome> => {
    const handle = handlers[call.method] as ((call: Call) => Promise<Outcome>) | undefined;
    if (handle === undefined) return failed({ code: "method-not-found", message: `unknown method ${call.method}` });
    try {
      return await handle(call);
    } catch (error) {
      if (error instanceof McpError) return failed(toFailure(error));
      return failed({ code: "internal", message: `${call.method} failed` });
    }
  };
  return service as Service;
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
function describe(slots: ReadonlyMap<string, ServerSlot>, serverInfo: Implementation, gate: LockGate): DiscoverResult {
  const texts = [...slots.values()].flatMap(({ name, member }) => {
    const text = gate.instructions(name, member.line?.client.server.instructions);
    return text === undefined ? [] : [`# ${name}\n\n${text}`];
  });
  return {
    supportedVersions: [...revisions].reverse(),
    capabilities,
    ...(texts.length > 0 && { instructions: texts.join("\n\n") }),
    serverInfo,
  };
}

function toPlain({
  server: _,
  localName: __,
  alias,
  ...tool
}: HostTool): Omit<HostTool, "server" | "localName" | "alias"> {
  return { ...tool, name: alias };
}

/** Tells of changes until the call ends. */
async function listen(
  call: Call<"subscriptions/listen">,
  { changes, clock }: Pick<HostServiceOptions, "changes" | "clock">,
  ownersOf: (uris: readonly string[]) => Promise<readonly { readonly server: string; readonly uri: string }[]>,
): Promise<Outcome<"subscriptions/listen">> {
  const filter = honoured(call.params.notifications, capabilities);
  const over = new AbortController();
  onAbort(call, () => over.abort());
  const resources = await ownersOf(filter.resourceSubscriptions ?? []);
  const feed = changes({ resources, signal: over.signal });
  // One silent server does not keep others from being heard: whatever is confirmed late counts as changed then.
  await soon(feed.ready, clock);
  call.notify("notifications/subscriptions/acknowledged", { notifications: asJson(filter) });
  for await (const { server: _, ...change } of feed) {
    if (!isWanted(change, filter)) continue;
    const [method, params] = changeToNotification(change);
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
  /** Tasks have the name of their server before their id. */
  task<M extends TaskMethod>(call: CallOf<M>): Promise<OutcomeOf<M>>;
}

interface ServerProxyOptions {
  readonly slots: ReadonlyMap<string, ServerSlot>;
  readonly routes: Routes;
  readonly find: FindTool;
  readonly toolCalls: ToolCalls;
  readonly delivery: Delivery;
  /** Cuts what is too large; absent where nothing is. */
  readonly results: Results | undefined;
  readonly gate: LockGate;
  readonly clock: Clock;
  prompts(options: HostListOptions): Promise<Listing<HostPrompt>>;
}

function createServerProxy(options: ServerProxyOptions): ServerProxy {
  const { slots, routes, find, toolCalls, delivery, results, gate, prompts, clock } = options;
  const tasks = createTaskCalls(clock);

  const deliver = <R>(
    slot: ServerSlot,
    call: CallOf,
    reference: Reference | undefined,
    send: (line: ClientConnection) => Promise<R>,
  ) => {
    const sending: Sending<R> = {
      slot,
      get signal() {
        return signalOf(call);
      },
      open: () => openFor(slot, reference, gate, sending),
      over: send,
      isRepeatable: () => true,
    };
    return delivery.send(sending).catch((error: unknown) => {
      throw outward(slot.name, error);
    });
  };

  const to: ServerProxy["to"] = (slot, call, params) =>
    deliver(slot, call, referenceOf(call.method, params), (line) => through(line, call, { params }));

  const fitted = (tool: string, result: CallToolResult, { peer }: CallOf): CallToolResult =>
    results === undefined ? result : results.fit(tool, result, { principal: peer.auth?.principal });

  const findPrompt = async (
    name: string,
    call: Call,
  ): Promise<{ readonly slot: ServerSlot; readonly name: string }> => {
    const parts = splitName(name);
    const direct = parts && slots.get(parts.server);
    if (parts !== undefined && direct !== undefined) return { slot: direct, name: parts.name };
    const listed = await prompts({ signal: signalOf(call) });
    const found = listed.find((prompt) => promptName(prompt.server, prompt.name) === name);
    if (found !== undefined) return { slot: routes.slot(found.server), name: found.name };
    const names = listed.map((prompt) => promptName(prompt.server, prompt.name));
    throw unknownPrompt(name, names, listed.missing);
  };

  return {
    to,
    async tool(call) {
      const { name } = call.params;
      const handed = new HandedCall(call, tasks);
      const found = find(name, handed);
      const route = found instanceof Promise ? await found : found;
      const outcome = await toolCalls.run(route, handed).catch((error: unknown) => {
        throw outward(route.slot.name, error);
      });
      if (outcome.kind !== "complete") return outcome;
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
    async task<M extends TaskMethod>(call: CallOf<M>): Promise<OutcomeOf<M>> {
      const parts = splitName(call.params.taskId);
      const slot = parts && slots.get(parts.server);
      if (parts === undefined || slot === undefined) {
        throw new McpError("invalid-params", `unknown task ${JSON.stringify(call.params.taskId)}`);
      }
      const params = { ...call.params, taskId: parts.name };
      const outcome = await deliver(slot, call, undefined, (line) => tasks.about(line, call, params));
      if (outcome.kind !== "complete") return outcome;
      const { result } = outcome;
      if (isTask(result)) {
        const whole = "result" in result ? { result: fitted("task", result.result as CallToolResult, call) } : {};
        return { kind: "complete", result: { ...result, ...whole, taskId: call.params.taskId } };
      }
      return { kind: "complete", result: isToolResult(result) ? fitted("task", result, call) : result };
    },
  };
}

/** A call of a tool that comes from a client of the host. */
class HandedCall implements ToolCall<Outcome<"tools/call">> {
  readonly #call: Call<"tools/call">;
  readonly #tasks: TaskCalls;

  constructor(call: Call<"tools/call">, tasks: TaskCalls) {
    this.#call = call;
    this.#tasks = tasks;
  }

  get args(): JsonObject | undefined {
    return this.#call.params.arguments;
  }

  get signal(): AbortSignal {
    return signalOf(this.#call);
  }

  over(line: ClientConnection, route: Route): Promise<Outcome<"tools/call">> {
    return this.#tasks.call(route, line, this.#call);
  }
}

/** What a call names of its server, where a lock has a say in it. */
function referenceOf(method: Method, params: object): Reference | undefined {
  switch (method) {
    case "prompts/get":
      return { type: "ref/prompt", name: (params as Params<"prompts/get">).name };
    case "resources/read":
      return { type: "read", uri: (params as Params<"resources/read">).uri };
    case "completion/complete":
      return (params as Params<"completion/complete">).ref;
    default:
      return undefined;
  }
}

/** What a prompt is called where only one name counts. */
function promptName(server: string, name: string): string {
  return toAlias(qualify(server, name));
}

function isTask<T extends object>(result: T): result is T & { readonly taskId: string } {
  return "taskId" in result;
}

function isToolResult<T extends object>(result: T): result is T & CallToolResult {
  return "content" in result;
}
