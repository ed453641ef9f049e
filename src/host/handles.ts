import { canonicalText } from "../json/canonical.ts";
import { asJson, type JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { Method } from "../protocol/methods.ts";
import { createSealer } from "../protocol/seal.ts";
import type { CallOf, OutcomeOf } from "../protocol/service.ts";
import { readStateKeys } from "../protocol/state-keys.ts";
import { digestText } from "../std/digest.ts";
import { quote } from "../std/text.ts";

/** What a call goes on from: the state that its server gave, or a task of its server that has asked something. */
export type Continuation =
  | { readonly kind: "state"; readonly state: string }
  | { readonly kind: "task"; readonly taskId: string };

/** A task, by the server that has it and the id that the server has given it. */
export interface TaskRef {
  readonly server: string;
  readonly taskId: string;
  /** The tool that runs as the task, by the name that the server has given it. */
  readonly tool?: string | undefined;
}

/**
 * What callers of a host bring back later: the state of a call that asks, and the id of a task.
 *
 * What a server gave is never handed on as it is: another caller of the host shares the connection to that server, which
 * cannot tell the two apart. Callers get a sealed text that is bound to the principal and to the server, and for a state
 * to the method and its parameters too.
 */
export interface Handles {
  /** The state that the caller gets. */
  sealContinuation(call: CallOf, server: string, continuation: Continuation): Promise<string>;
  /** What a call that comes back goes on from. Throws `invalid-params` for a state that is not of this very call. */
  openContinuation(call: CallOf, server: string): Promise<Continuation | undefined>;
  /** The outcome of a server as its caller may have it: with a state of the host in place of that of the server. */
  sealOutcome<M extends Method>(call: CallOf<M>, server: string, outcome: OutcomeOf<M>): Promise<OutcomeOf<M>>;
  /** The id of a task that the caller gets. */
  sealTask(call: CallOf, task: TaskRef): Promise<string>;
  /** The task that an id names. Throws `invalid-params`, as for an id that nobody has given, when it is not the caller's. */
  openTask(call: CallOf, id: string): Promise<TaskRef>;
}

interface HandlesOptions {
  readonly stateKeys: readonly (string | undefined)[] | undefined;
  /** The time of day in ms. */
  now(): number;
}

/** How long users may take to answer. The server behind the host may allow less. */
const stateTtlMs = 86_400_000;

/** Throws `invalid-definition` for a key that can be guessed. */
export function createHandles({ stateKeys, now }: HandlesOptions): Handles {
  const sealer = createSealer(readStateKeys(stateKeys), { purpose: "plugbay host", taker: "openHost" });

  const sealContinuation: Handles["sealContinuation"] = async (call, server, continuation) =>
    sealer.seal({ ...continuation, bound: await bindingOf(call, server), expires: now() + stateTtlMs });

  return {
    sealContinuation,
    async openContinuation(call, server) {
      if (call.state === undefined) return undefined;
      const { kind, state, taskId, bound, expires } = (await sealer.open(call.state)) ?? {};
      if (kind !== "state" && kind !== "task") throw refusedState("it was not issued here, or was changed");
      if (bound !== (await bindingOf(call, server))) throw refusedState("it belongs to another call or caller");
      if (typeof expires !== "number" || expires <= now()) throw refusedState("it has expired");
      return kind === "state" ? { kind, state: String(state) } : { kind, taskId: String(taskId) };
    },
    async sealOutcome(call, server, outcome) {
      if (outcome.kind !== "input-required" || outcome.state === undefined) return outcome;
      return { ...outcome, state: await sealContinuation(call, server, { kind: "state", state: outcome.state }) };
    },
    sealTask: ({ peer }, { server, taskId, tool }) =>
      sealer.seal({ kind: "id", server, taskId, ...(tool !== undefined && { tool }), ...ownerOf(peer) }),
    async openTask({ peer }, id) {
      const { kind, server, taskId, tool, principal } = (await sealer.open(id)) ?? {};
      const isOwn = kind === "id" && principal === ownerOf(peer).principal;
      if (!isOwn || typeof server !== "string" || typeof taskId !== "string") throw unknownTask(id);
      return { server, taskId, ...(typeof tool === "string" && { tool }) };
    },
  };
}

/** Ties a state to who asked which server for what, so that it is good for nothing else. */
function bindingOf({ method, params, peer }: CallOf, server: string): Promise<string> {
  const { name, arguments: input, uri } = asJson(params);
  return digestText(canonicalText({ method, name, input, uri, server, ...ownerOf(peer) }));
}

function ownerOf({ auth }: CallOf["peer"]): JsonObject & { readonly principal?: string } {
  return auth === undefined ? {} : { principal: auth.principal };
}

function refusedState(reason: string): McpError {
  return new McpError("invalid-params", `the request state is refused: ${reason}; call again without it`);
}

/** The error for a task id that is not valid for the caller. It does not say why. */
export function unknownTask(id: string): McpError {
  return new McpError("invalid-params", `unknown task ${quote(id)}`);
}
