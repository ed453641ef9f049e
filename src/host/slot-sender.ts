import type { ClientConnection } from "../connect/create-connect.ts";
import type { JsonObject } from "../json/json.ts";
import type { Method, Params } from "../protocol/methods.ts";
import { type Call, type CallOf, type Outcome, signalOf } from "../protocol/service.ts";
import type { CallSender } from "./call-sender.ts";
import { type Route, routeBy, type ToolCall, type ToolCalls, toRoute } from "./calls.ts";
import { through } from "./delivery.ts";
import type { Handles } from "./handles.ts";
import type { Reference } from "./lock-check.ts";
import type { SendBySlot, SendRequest } from "./slot-request.ts";
import type { TaskCalls, TaskMethod } from "./task-calls.ts";

/** Sends the calls of clients to servers, in the words of the server. */
export interface SlotSender {
  /** The call of a tool that comes from a client. */
  handed(call: Call<"tools/call">): HandedCall;
  tool(route: Route, call: Call<"tools/call">, handed?: HandedCall): SendBySlot<"tools/call">;
  request<M extends Method>(params: Params<M>): SendBySlot<M>;
  task<M extends TaskMethod>(params: Params<M>): SendBySlot<M>;
  /** Sends what is said in plain data. */
  readonly by: SendRequest;
}

interface SlotSenderOptions {
  readonly toolCalls: ToolCalls;
  readonly tasks: TaskCalls;
  readonly handles: Handles;
  readonly deliver: CallSender["deliver"];
}

export function createSlotSender({ toolCalls, tasks, handles, deliver }: SlotSenderOptions): SlotSender {
  const handed = (call: Call<"tools/call">): HandedCall => new Handed(call, tasks);
  const sender: SlotSender = {
    handed,
    tool: (route, call, known) => (slot, sent) =>
      toolCalls.run(routeBy(route, slot), sent === call && known ? known : handed(sent as Call<"tools/call">)),
    request: (params) => async (slot, sent) => {
      const earlier = await handles.openContinuation(sent, slot.name);
      const state = earlier?.kind === "state" ? earlier.state : undefined;
      return deliver(slot, sent, referenceOf(sent.method, params), async (line) => {
        const outcome = await through(line, sent, { params, state });
        return handles.sealOutcome(sent, slot.name, outcome);
      });
    },
    task: (params) => (slot, sent) => deliver(slot, sent, undefined, (line) => tasks.about(line, sent, params)),
    by(shared, call, request) {
      const params = "params" in request ? (request.params as unknown as Params<never>) : undefined;
      const send =
        params === undefined ? undefined : request.kind === "task" ? sender.task(params) : sender.request(params);
      if (send !== undefined) return send as SendBySlot<Method>;
      const { name } = request as { readonly name: string };
      return sender.tool(toRoute(shared, name), call as Call<"tools/call">) as unknown as SendBySlot<Method>;
    },
  };
  return sender;
}

/** A call of a tool that comes from a client of the host. */
export interface HandedCall extends ToolCall<Outcome<"tools/call">> {
  readonly origin: CallOf;
}

/** A class, for every call has one. */
class Handed implements HandedCall {
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

  get origin(): CallOf {
    return this.#call;
  }

  over(line: ClientConnection, route: Route): Promise<Outcome<"tools/call">> {
    return this.#tasks.call(route, line, this.#call);
  }
}

/** What a call names of its server, where a lock has a say in it. */
export function referenceOf(method: Method, params: object): Reference | undefined {
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
