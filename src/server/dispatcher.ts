import type { JsonObject } from "../json/json.ts";
import { type Failure, McpError } from "../protocol/errors.ts";
import { type Method, methodRow } from "../protocol/methods.ts";
import { rootsChanged } from "../protocol/notification.ts";
import type { ServerCapabilities } from "../protocol/peer.ts";
import { type Call, type Middleware, type Outcome, type Service, withMiddleware } from "../protocol/service.ts";
import { type Context, handlerJob } from "./context.ts";
import type { Environment } from "./environment.ts";
import type { CustomMethod, ServerOptions } from "./options.ts";

type Handler<M extends Method> = (call: Call<M>) => Outcome<M> | Promise<Outcome<M>>;

/** One handler for each method of the protocol. */
export type Handlers = { readonly [M in Method]: Handler<M> };

export interface DispatchOptions {
  readonly handlers: Handlers;
  /** Methods beyond the protocol, by name. */
  readonly methods: Readonly<Record<string, CustomMethod>>;
  readonly env: Environment;
  capabilities(): ServerCapabilities;
}

interface Row {
  readonly handle: Handler<Method>;
  /** What the server must advertise for this method to exist. */
  readonly capability: keyof ServerCapabilities | undefined;
  /** The extension it must advertise. */
  readonly extension: string | undefined;
}

/** Runs the handler of a method. Never rejects: here, what handlers throw becomes an outcome. */
export function createDispatch({ handlers, methods, env, capabilities }: DispatchOptions): Service {
  const table = new Map<string, Row>();
  const add = (method: string, handle: Handler<Method>): void => {
    const { capability, extension } = methodRow(method);
    table.set(method, { handle, capability, extension });
  };
  for (const [method, handle] of Object.entries(handlers)) add(method, handle as Handler<Method>);
  for (const [method, run] of Object.entries(methods)) {
    if (table.has(method)) throw new McpError("invalid-definition", `method ${method} is defined by the protocol`);
    add(method, customHandler(env, method, run));
  }

  const answer = (call: Call): Promise<Outcome> => {
    const row = table.get(call.method);
    if (row === undefined || !isOffered(row, capabilities)) {
      return Promise.resolve(failed({ code: "method-not-found", message: `unknown method ${call.method}` }));
    }
    try {
      const outcome = row.handle(call);
      return outcome instanceof Promise
        ? outcome.catch((error: unknown) => thrown(error, call, env))
        : Promise.resolve(outcome);
    } catch (error) {
      return Promise.resolve(thrown(error, call, env));
    }
  };
  return answer as Service;
}

function isOffered({ capability, extension }: Row, capabilities: () => ServerCapabilities): boolean {
  if (capability !== undefined && !(capability in capabilities())) return false;
  return extension === undefined || capabilities().extensions?.[extension] !== undefined;
}

/** Puts middleware around a service. One that throws must not show the peer more than a handler would. */
export function guarded(service: Service, use: readonly Middleware[], env: Environment): Service {
  if (use.length === 0) return service;
  const wrapped = withMiddleware(service, ...use);
  const answer = async (call: Call): Promise<Outcome> => {
    try {
      return await wrapped(call);
    } catch (error) {
      return thrown(error, call, env);
    }
  };
  return answer as Service;
}

function customHandler(env: Environment, method: string, run: CustomMethod): Handler<Method> {
  if (typeof run !== "function") throw new McpError("invalid-definition", `method ${method} must be a function`);
  return (call) => {
    const params = call.params as unknown as JsonObject;
    const finish = (result: JsonObject): Outcome => ({ kind: "complete", result: result as never });
    return env.runner.run(
      call,
      handlerJob(env, { method, name: method, run: (context) => run(params, context), finish }),
    );
  };
}

function failed(failure: Failure): Outcome {
  return { kind: "failed", failure };
}

/** The outcome of a call that threw: the peer may know the failure, and this process the error. */
function thrown(error: unknown, call: Call, { errors }: Environment): Outcome {
  return { kind: "failed", failure: errors.failureOf(error, call.method, undefined, call), cause: error };
}

type NotificationOutcome = Outcome<"notification">;

const handled: NotificationOutcome = { kind: "complete", result: {} };

/** Runs the author's handlers for notifications of clients. */
export function createNotificationHandler(
  env: Environment,
  { onNotification, onRootsChanged }: Pick<ServerOptions, "onNotification" | "onRootsChanged">,
): (call: Call<"notification">) => NotificationOutcome | Promise<NotificationOutcome> {
  return (call) => {
    const { method, params } = call.params;
    const isAboutRoots = method === rootsChanged;
    if ((isAboutRoots ? onRootsChanged : onNotification) === undefined) return handled;
    const run = (context: Context): void | Promise<void> =>
      isAboutRoots ? onRootsChanged?.(context) : onNotification?.({ method, params }, context);
    return env.runner.run(call, handlerJob(env, { method, run, finish: () => handled })) as
      | NotificationOutcome
      | Promise<NotificationOutcome>;
  };
}
