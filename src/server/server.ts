import { toFailure } from "../protocol/errors.ts";
import type { DiscoverResult, Method } from "../protocol/methods.ts";
import type { Implementation, ServerCapabilities } from "../protocol/peer.ts";
import { revisions } from "../protocol/revision.ts";
import type { ServerEvent } from "../protocol/server-event.ts";
import {
  bare,
  type Call,
  type CallOf,
  lazyService,
  type Outcome,
  type OutcomeOf,
  observed,
  type Service,
} from "../protocol/service.ts";
import type { SessionHooks } from "../protocol/session.ts";
import { tasksExtension } from "../protocol/task.ts";
import type { ToolTypes, Typed } from "../protocol/tool.ts";
import type { Awaitable } from "../std/awaitable.ts";
import { systemClock } from "../std/clock.ts";
import { createDeadlines } from "../std/deadlines.ts";
import { defined } from "../std/defined.ts";
import { type Lazy, lazy } from "../std/lazy.ts";
import type { Store } from "../store/store.ts";
import { createChanges, type ListKind } from "./changes.ts";
import { noCompletion } from "./completion.ts";
import { lazyQuestions } from "./context.ts";
import { badDefinition, findFlaw, kit, type Provable } from "./definition.ts";
import { createDispatch, createNotificationHandler, guarded, type Handlers } from "./dispatcher.ts";
import type { Environment } from "./environment.ts";
import { createErrorReporter, type ErrorReporter } from "./error-reporter.ts";
import { createMessages, type Messages } from "./messages.ts";
import { checkOptions, infoOf, type ServerOptions } from "./options.ts";
import type { PromptDefinition } from "./prompt.ts";
import { createPromptBook, type PromptBook } from "./prompts.ts";
import type { ResourceDefinition } from "./resource.ts";
import { createResourceRegistry, type ResourceRegistry } from "./resources.ts";
import { createRunner } from "./runs/runner.ts";
import { createServerTasks, type ServerTasks } from "./server-tasks.ts";
import type { Sessions } from "./sessions.ts";
import type { TaskManager } from "./tasks/task-manager.ts";
import type { ToolDefinition, ToolDefinitions } from "./tool.ts";
import { createToolBox, type ToolBox } from "./tools.ts";

/** Things of one kind that can be added and removed while the server runs. */
export interface Collection<D> {
  readonly names: readonly string[];
  has(name: string): boolean;
  /**
   * Throws `invalid-definition` when the definition is invalid or the name is taken.
   *
   * Patterns in a plain JSON Schema are proved safe afterwards: if one is not, `onError` is called, and all calls are
   * rejected.
   */
  add(name: string, definition: D): void;
  /** False when there is no such entry. */
  remove(name: string): boolean;
}

/**
 * One MCP server: a function from calls to outcomes, with methods to change it.
 *
 * It has no connection and no client. Serve it over any number of transports; call it in process through `connect`.
 */
export interface Server<T extends ToolTypes = ToolTypes> extends Typed<T>, Messages, ServerTasks {
  <M extends Method>(call: CallOf<M>): Promise<OutcomeOf<M>>;
  readonly info: Implementation;
  readonly tools: Collection<ToolDefinition>;
  readonly prompts: Collection<PromptDefinition>;
  /** By URI or template. */
  readonly resources: Omit<Collection<ResourceDefinition>, "add"> & { add(definition: ResourceDefinition): void };
  /**
   * Announces the change of a list; `add` and `remove` do that themselves. Throws `unsupported` when the server was
   * created without `listChanged`.
   */
  listChanged(list: "tools" | "prompts" | "resources"): void;
  /**
   * Announces the change of a resource to its subscribers. Throws `unsupported` when the server was created without
   * `subscribe`.
   */
  resourceUpdated(uri: string): void;
  /**
   * Notifies the client that was asked to open a page (`ctx.askUrl`, with an `elicitationId` of your own) that its user
   * is done there: for a callback that arrives after the call, or in another process. A no-op when no client waits for
   * it; clients of 2026-07-28 do not.
   */
  completeElicitation(elicitationId: string): void;
  /** Its part of the store, for transports. */
  readonly store: (() => Promise<Store>) | undefined;
  /** How long a client may take to answer a question, for transports. */
  readonly askTimeoutMs: number | undefined;
  /** The session hooks, for transports. */
  readonly sessions: () => Promise<SessionHooks>;
  /** The event hook for calls and rejections, for transports. */
  readonly onEvent: ((event: ServerEvent) => void) | undefined;
  /** The telemetry of calls and sessions, for transports. */
  readonly telemetry: ServerOptions["telemetry"];
  /**
   * Ends work outside of calls: other processes continue the tasks that run here, and subscriptions end. Only a server
   * with a store or tasks needs it. The store stays open. Never throws.
   */
  close(): Promise<void>;
}

/**
 * Defines a server. A bad definition throws `invalid-definition` and names the thing.
 *
 * Whether patterns in plain JSON Schemas can be matched in bounded time is found
 * out when the server is first asked what it is: then serving and connecting fail
 * with `invalid-definition`.
 */
export function createServer<const T extends ToolDefinitions = Record<never, never>>(
  options: ServerOptions<T>,
): Server<{ readonly [N in keyof T]: NonNullable<T[N]["~types"]> }> {
  checkOptions(options);
  const env = createEnvironment(options, (id) => changes.complete(id));
  const info = infoOf(options);
  const { instructions } = options;
  let known: DiscoverResult | undefined;
  const describe = (): DiscoverResult => {
    known ??= Object.freeze({
      supportedVersions: [...revisions].reverse(),
      capabilities: capabilitiesOf(options, offers),
      ...(instructions !== undefined && { instructions }),
      serverInfo: info,
      ...env.cache,
    });
    return known;
  };
  let isProved = false;
  const discover = async ({ peer }: Call): Promise<Outcome<"server/discover">> => {
    const ready = isProved ? [] : [...tools.values(), ...prompts.values()];
    const flaw = await findFlaw(ready.flatMap(({ schemas }) => schemas));
    if (flaw !== undefined) return { kind: "failed", failure: toFailure(flaw) };
    isProved = true;
    return { kind: "complete", result: peer.auth && tools.hasTasks() ? withTaskList(describe()) : describe() };
  };
  const capabilities = () => describe().capabilities;
  const manager: Lazy<TaskManager> = lazy(lazyQuestions.load, (parts) =>
    parts.createTaskManager({ env, limits: options.tasks, prepare: tools.prepare }),
  );
  const hasTasks = (): boolean => tools.hasTasks();
  const sessions: Lazy<Sessions> = lazy(
    () => import("./sessions.ts"),
    (part) => part.createSessions(env, options),
  );
  const offered = { capabilities, hasTasks, tasks: manager.load, resources: () => resources };
  const changes = createChanges({ ...offered, env, hooks: options });
  let isOpen = false;
  const changed = (kind: ListKind) => (): void => {
    known = undefined;
    if (isOpen) changes.listChanged(kind);
  };
  const tools = createToolBox({ env, tasks: manager.load, onChange: changed("tools") });
  const prompts = createPromptBook(env, changed("prompts"));
  const resources = createResourceRegistry(env, changed("resources"));
  const offers = { tools, prompts, resources };
  checkMembers(options);
  for (const [name, definition] of Object.entries(options.tools ?? {})) tools.define(name, definition);
  for (const [name, definition] of Object.entries(options.prompts ?? {})) prompts.define(name, definition);
  for (const definition of options.resources ?? []) resources.define(definition);
  isOpen = true;

  const tasks: Service = async (call) => (await manager.load()).answer(call as Call) as never;
  const handlers: Handlers = {
    "server/discover": discover,
    "tools/list": tools.list,
    "tools/call": tools.call,
    "resources/list": resources.list,
    "resources/templates/list": resources.templates.list,
    "resources/read": resources.read,
    "prompts/list": prompts.list,
    "prompts/get": prompts.call,
    "completion/complete": (call) => complete(call, offers, env),
    "subscriptions/listen": changes.listen,
    "tasks/get": tasks,
    "tasks/update": tasks,
    "tasks/cancel": tasks,
    "tasks/list": tasks,
    "tasks/result": tasks,
    notification: createNotificationHandler(env, options),
  };
  const core = createDispatch({ handlers, methods: options.methods ?? {}, env, capabilities });
  return Object.assign(observing(guarded(core, options.middleware ?? [], env), options, env), {
    info,
    tools: collection(tools, env.errors, "tools/call"),
    prompts: collection(prompts, env.errors, "prompts/get"),
    resources: resourceCollection(resources),
    listChanged: (list: "tools" | "prompts" | "resources") => changes.announce({ kind: list }),
    resourceUpdated: (uri: string) => changes.announce({ kind: "resource", uri }),
    completeElicitation: env.completeElicitation,
    ...createMessages(changes, capabilities),
    ...createServerTasks(manager.load),
    store: env.isShared ? env.store.load : undefined,
    sessions: sessions.load,
    shares: { budgets: options.budgets, status: () => env.shares.loaded?.status() },
    [bare]: core,
    close: () => closeAll([manager.settled(), changes, sessions.settled()]),
  });
}

function resourceCollection(resources: ResourceRegistry): Server["resources"] {
  return {
    get names() {
      return resources.uris();
    },
    has: resources.has,
    add: resources.define,
    remove: resources.remove,
  };
}

/** Lets telemetry and `onEvent` hear of every call. Without them the server stays as it is, and nothing is loaded. */
function observing(
  service: Service,
  options: ServerOptions,
  env: Environment,
): Service & Pick<Server, "telemetry" | "onEvent" | "askTimeoutMs"> {
  const { telemetry, onEvent, askTimeoutMs } = options;
  const members = { telemetry, onEvent, askTimeoutMs };
  if (telemetry === undefined && onEvent === undefined) return Object.assign(service, members);
  const observe = (inner: Service): Service =>
    lazyService(async () => (await import("./observed-service.ts")).observedService(inner, options, env));
  return Object.assign(observe(service), members, { [observed]: { inner: service, observe } });
}

function complete(call: Call<"completion/complete">, { prompts, resources }: Offers, env: Environment) {
  const { ref } = call.params;
  const ready = ref.type === "ref/prompt" ? prompts.get(ref.name) : resources.templates.get(ref.uri);
  return ready === undefined ? noCompletion : ready.definition[kit].complete(call, ready.definition, env);
}

async function closeAll(parts: readonly Awaitable<{ close(): Promise<void> } | undefined>[]): Promise<void> {
  await Promise.allSettled(parts.map(async (part) => (await part)?.close()));
}

/** Tasks can be listed for authenticated callers only, because the tasks of others have no owner. */
function withTaskList(server: DiscoverResult): DiscoverResult {
  return { ...server, capabilities: { ...server.capabilities, ...taskList } };
}

/** As 2025-11-25 has it, the one revision that lists tasks. */
const taskList = { tasks: { list: {} } };

function createEnvironment(
  options: ServerOptions,
  completeElicitation: Environment["completeElicitation"],
): Environment {
  const { clock = systemClock, cache = {}, stateAudience: audience = options.name } = options;
  const { date: now = Date.now } = clock;
  const deadlines = createDeadlines(clock);
  const given = options.store;
  const isShared = given !== undefined;
  const store = lazy(async () => (await lazyQuestions.load()).storeOf(given, audience, clock));
  const shares = lazy(lazyQuestions.load, (parts) =>
    parts.createServerShares(options.budgets, options.tasks?.maxRunning, clock),
  );
  return {
    store,
    isShared,
    shares,
    runner: createRunner({
      stateKeys: options.stateKeys,
      audience,
      deadlines,
      askTimeoutMs: options.askTimeoutMs ?? 600_000,
      shares,
      requestBound: clock.requestBound,
      now,
      store,
      isShared,
      leaseMs: options.tasks?.leaseMs,
    }),
    clock,
    deadlines,
    now,
    audience,
    errors: createErrorReporter(options.onError, options.exposeErrors),
    logging: options.logging === true,
    completeElicitation,
    pageSize: options.pageSize ?? 1_000,
    timeoutMs: options.timeoutMs ?? 30_000,
    cache: { ttlMs: cache.ttlMs ?? 0, cacheScope: cache.scope ?? "private" },
    inputErrors: options.inputErrors ?? "result",
    trustPatterns: options.trustPatterns === true,
  };
}

interface Box<D> {
  names(): readonly string[];
  get(name: string): { readonly schemas: readonly (Provable | undefined)[] } | undefined;
  define(name: string, definition: D): void;
  remove(name: string): boolean;
}

function collection<D>(box: Box<D>, errors: ErrorReporter, method: Method): Collection<D> {
  return {
    get names() {
      return box.names();
    },
    has: (name) => box.get(name) !== undefined,
    add(name, definition) {
      box.define(name, definition);
      void findFlaw(box.get(name)?.schemas ?? []).then((flaw) => flaw && errors.failureOf(flaw, method, name));
    },
    remove: box.remove,
  };
}

/** What a server has to offer. */
interface Offers {
  readonly tools: ToolBox;
  readonly prompts: PromptBook;
  readonly resources: ResourceRegistry;
}

/**
 * The capabilities that a server advertises.
 *
 * A group is advertised when its option is given, and from its first member on: clients that know of it keep asking
 * when the last one is removed.
 */
function capabilitiesOf(options: ServerOptions, { tools, prompts, resources }: Offers): ServerCapabilities {
  const {
    listChanged = false,
    subscribe = options.onSubscribe !== undefined,
    logging = false,
    experimental,
    extensions,
  } = options;
  const changing = listChanged ? { listChanged: true } : {};
  const completes = [...prompts.values(), ...resources.templates.values()].some(
    ({ definition }) => definition.complete !== undefined,
  );
  return {
    ...((options.tools !== undefined || tools.wasUsed()) && { tools: changing }),
    ...((options.prompts !== undefined || prompts.wasUsed()) && { prompts: changing }),
    ...((options.resources !== undefined || resources.wasUsed()) && {
      resources: subscribe ? { ...changing, subscribe: true } : changing,
    }),
    ...(completes && { completions: {} }),
    ...(logging && { logging: {} }),
    ...defined({ experimental, extensions: tools.hasTasks() ? { ...extensions, [tasksExtension]: {} } : extensions }),
  };
}

/** Tools and prompts are members of an object, which has their names; resources are a list. */
function checkMembers(options: Pick<ServerOptions, "tools" | "prompts" | "resources">): void {
  for (const member of ["tools", "prompts", "resources"] as const) {
    const [given, isList] = [options[member], member === "resources"];
    if (given === undefined || Array.isArray(given) === isList) continue;
    throw badDefinition("createServer", `${member} must be ${isList ? "a list" : "an object, by their names"}`);
  }
}
