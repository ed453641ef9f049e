import type { JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import { type Method, methodRow, type Result } from "../model/methods.ts";
import type { ServerCapabilities } from "../model/peer.ts";
import { revisions } from "../model/revision.ts";
import { type Call, compose, type Outcome, type Service } from "../model/service.ts";
import type { Shaped, ToolShapes } from "../model/shape.ts";
import { systemClock } from "../std/clock.ts";
import { createDeadlines } from "../std/deadlines.ts";
import { type Changes, createChanges } from "./changes.ts";
import { completerOf, noCompletion, toCompletion } from "./completion.ts";
import type { PromptDefinition } from "./define-prompt.ts";
import type { ResourceDefinition } from "./define-resource.ts";
import type { ShapesOfTools, ToolDefinition, Tools } from "./define-tool.ts";
import type { Environment } from "./environment.ts";
import { createFaults } from "./faults.ts";
import { handlerJob } from "./handler-job.ts";
import { infoOf, type ServerOptions } from "./options.ts";
import { createPromptBook, type PromptBook } from "./prompts.ts";
import { createResourceShelf, type ResourceShelf } from "./resources.ts";
import { createRunner } from "./rounds.ts";
import { createSealer } from "./seal.ts";
import { createToolBox, type ToolBox } from "./tools.ts";

/** Things of one kind that can be added and removed while the server runs. */
export interface Collection<D> {
  readonly names: readonly string[];
  has(name: string): boolean;
  /** Throws `invalid-definition` when the definition is bad or the name taken. */
  add(name: string, definition: D): void;
  /** False when there is no such thing. */
  remove(name: string): boolean;
}

/** Tells subscribers what changed. Throws `unsupported` when the server was not created with the option it needs. */
export interface Announcements {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string): void;
}

/**
 * One MCP server: a function from calls to outcomes, with means to change it.
 *
 * It holds no connection and no client. Serve it over as many transports as
 * you like; call it in process through `connect`.
 */
export interface Server<T extends ToolShapes = ToolShapes> extends Shaped<T> {
  <M extends Method>(call: Call<M>): Promise<Outcome<M>>;
  readonly info: Result<"server/discover">["serverInfo"];
  readonly tools: Collection<ToolDefinition>;
  readonly prompts: Collection<PromptDefinition>;
  /** By URI or template. */
  readonly resources: Omit<Collection<ResourceDefinition>, "add"> & { add(definition: ResourceDefinition): void };
  readonly notify: Announcements;
}

type Handler<M extends Method> = (call: Call<M>) => Outcome<M> | Promise<Outcome<M>>;
type Handlers = { readonly [M in Method]: Handler<M> };

/** Defines a server. A bad definition throws `invalid-definition` and names the thing. */
export function createServer<const T extends Tools = Record<never, never>>(
  options: ServerOptions<T>,
): Server<ShapesOfTools<T>> {
  const env = createEnvironment(options);
  let known: ServerCapabilities | undefined;
  const capabilities = (): ServerCapabilities => {
    known ??= capabilitiesOf(options, { tools, prompts, resources });
    return known;
  };
  const changes: Changes = createChanges(capabilities);
  const changed = (kind: "tools" | "prompts" | "resources") => (): void => {
    known = undefined;
    changes.listChanged(kind);
  };
  const tools = createToolBox(env, changed("tools"));
  const prompts = createPromptBook(env, changed("prompts"));
  const resources = createResourceShelf(env, changed("resources"));
  for (const [name, definition] of Object.entries(options.tools ?? {})) tools.define(name, definition);
  for (const [name, definition] of Object.entries(options.prompts ?? {})) prompts.define(name, definition);
  for (const definition of options.resources ?? []) resources.define(definition);

  const info = infoOf(options);
  const discover = (): Outcome<"server/discover"> => ({
    kind: "complete",
    result: {
      supportedVersions: [...revisions].reverse(),
      capabilities: capabilities(),
      ...(options.instructions !== undefined && { instructions: options.instructions }),
      serverInfo: info,
      ...env.cache,
    },
  });
  const handlers: Handlers = {
    "server/discover": discover,
    "tools/list": ({ params }) => ({ kind: "complete", result: tools.page(params.cursor) }),
    "tools/call": tools.call,
    "resources/list": resources.list,
    "resources/templates/list": ({ params }) => ({ kind: "complete", result: resources.templates.page(params.cursor) }),
    "resources/read": resources.read,
    "prompts/list": ({ params }) => ({ kind: "complete", result: prompts.page(params.cursor) }),
    "prompts/get": prompts.call,
    "completion/complete": (call) => complete(call, prompts, resources),
    "subscriptions/listen": changes.listen,
  };
  const core = dispatch({ handlers, env, capabilities, methods: options.methods ?? {} });
  const service = compose(core, ...(options.use ?? []));
  return Object.assign(service, {
    info,
    tools: collection(tools),
    prompts: collection(prompts),
    resources: {
      get names() {
        return resources.uris();
      },
      has: resources.has,
      add: resources.define,
      remove: resources.remove,
    },
    notify: announcements(changes),
  });
}

function createEnvironment(options: ServerOptions<Tools>): Environment {
  const { clock = systemClock, cache = {} } = options;
  const deadlines = createDeadlines(clock);
  return {
    runner: createRunner({
      sealer: createSealer(options.stateKeys),
      deadlines,
      stateTtlMs: options.stateTtlMs ?? 600_000,
      maxParked: options.maxParked ?? 1_000,
      now: options.now ?? Date.now,
    }),
    faults: createFaults(options.onError),
    logging: options.logging === true,
    pageSize: options.pageSize ?? 1_000,
    timeoutMs: options.timeoutMs ?? 30_000,
    cache: { ttlMs: cache.ttlMs ?? 0, cacheScope: cache.scope ?? "private" },
    inputErrors: options.inputErrors ?? "result",
  };
}

interface Parts {
  readonly tools: ToolBox;
  readonly prompts: PromptBook;
  readonly resources: ResourceShelf;
}

/** A group is advertised when it has a member, or when its option is given at all. */
function capabilitiesOf(options: ServerOptions<Tools>, { tools, prompts, resources }: Parts): ServerCapabilities {
  const { listChanged = false, subscribe = false, logging = false, experimental, extensions } = options;
  const changing = listChanged ? { listChanged: true } : {};
  const completes = [...prompts.values(), ...resources.templates.values()].some(
    ({ definition }) => definition.complete !== undefined,
  );
  return {
    ...((options.tools !== undefined || tools.size > 0) && { tools: changing }),
    ...((options.prompts !== undefined || prompts.size > 0) && { prompts: changing }),
    ...((options.resources !== undefined || resources.size > 0) && {
      resources: subscribe ? { ...changing, subscribe: true } : changing,
    }),
    ...(completes && { completions: {} }),
    ...(logging && { logging: {} }),
    ...(experimental !== undefined && { experimental }),
    ...(extensions !== undefined && { extensions }),
  };
}

interface Dispatch {
  readonly handlers: Handlers;
  readonly env: Environment;
  readonly methods: NonNullable<ServerOptions<Tools>["methods"]>;
  capabilities(): ServerCapabilities;
}

/** Runs the handler of a method. The only place where a throw becomes an outcome. */
function dispatch({ handlers, env, methods, capabilities }: Dispatch): Service {
  const table = new Map<string, Handler<Method>>(Object.entries(handlers) as [string, Handler<Method>][]);
  for (const [method, run] of Object.entries(methods)) {
    if (table.has(method)) throw new McpError("invalid-definition", `method ${method} is defined by the protocol`);
    table.set(method, (call) => {
      const params = call.params as unknown as JsonObject;
      const finish = (result: JsonObject): Outcome => ({ kind: "complete", result: result as never });
      return env.runner.run(call, handlerJob(env, { method, name: method, run: (ctx) => run(params, ctx), finish }));
    });
  }

  const answer = async (call: Call): Promise<Outcome> => {
    try {
      const handler = table.get(call.method);
      const { capability } = methodRow(call.method);
      if (handler === undefined || (capability !== undefined && !(capability in capabilities()))) {
        return { kind: "failed", failure: { code: "method-not-found", message: `unknown method ${call.method}` } };
      }
      return await handler(call);
    } catch (error) {
      return { kind: "failed", failure: env.faults.failureOf(error, call.method) };
    }
  };
  return answer as Service;
}

/** Nobody registered a completer: there is nothing to suggest, which is no error. */
async function complete(
  { params, signal }: Call<"completion/complete">,
  prompts: PromptBook,
  resources: ResourceShelf,
): Promise<Outcome<"completion/complete">> {
  const { ref, argument, context } = params;
  const owner = ref.type === "ref/prompt" ? prompts.get(ref.name) : resources.templates.get(ref.uri);
  const completer = completerOf(owner?.definition.complete, argument.name);
  if (completer === undefined) return { kind: "complete", result: noCompletion };
  const values = await completer(argument.value, { arguments: context?.arguments ?? {}, signal });
  return { kind: "complete", result: toCompletion(values) };
}

function collection<D>(box: {
  names(): readonly string[];
  get(name: string): unknown;
  define(name: string, definition: D): void;
  remove(name: string): boolean;
}): Collection<D> {
  return {
    get names() {
      return box.names();
    },
    has: (name) => box.get(name) !== undefined,
    add: box.define,
    remove: box.remove,
  };
}

function announcements({ announce }: Changes): Announcements {
  return {
    toolsChanged: () => announce({ kind: "tools" }),
    promptsChanged: () => announce({ kind: "prompts" }),
    resourcesChanged: () => announce({ kind: "resources" }),
    resourceUpdated: (uri) => announce({ kind: "resource", uri }),
  };
}
