import { toAlias } from "../bridge/alias.ts";
import type { Line } from "../connect/create-connect.ts";
import { McpError } from "../model/errors.ts";
import type { Method, Params } from "../model/methods.ts";
import { type Call, type Outcome, signalOf, withCall } from "../model/service.ts";
import type { HostPrompt, Listing } from "./host-tool.ts";
import type { ListOptions } from "./listings.ts";
import { qualify, splitName } from "./names.ts";
import type { Routes } from "./routes.ts";
import type { Seat } from "./seat.ts";
import type { ToolCalls } from "./tool-calls.ts";

/** The calls that name a task. */
type TaskMethod = "tasks/get" | "tasks/update" | "tasks/cancel" | "tasks/result";

/** Hands calls on to the server they are for. */
export interface Passage {
  /** To a server, with other parameters. */
  to<M extends Method>(seat: Seat, call: Call<M>, params: Params<M>): Promise<Outcome<M>>;
  tool(call: Call<"tools/call">): Promise<Outcome<"tools/call">>;
  prompt(call: Call<"prompts/get">): Promise<Outcome<"prompts/get">>;
  completePrompt(call: Call<"completion/complete">): Promise<Outcome<"completion/complete">>;
  /** Tasks have the name of their server before their id. */
  task<M extends TaskMethod>(call: Call<M>): Promise<Outcome<M>>;
}

export interface PassageOptions {
  readonly seats: ReadonlyMap<string, Seat>;
  readonly routes: Routes;
  readonly toolCalls: ToolCalls;
  prompts(options: ListOptions): Promise<Listing<HostPrompt>>;
}

export function createPassage({ seats, routes, toolCalls, prompts }: PassageOptions): Passage {
  const through = async <M extends Method>(
    seat: Seat,
    line: Line,
    call: Call<M>,
    params: Params<M>,
  ): Promise<Outcome<M>> => {
    const { service, revision } = line.connection;
    const peer = { ...call.peer, revision };
    const outcome = await seat.member.use(service(withCall(call, { params, peer, http: undefined })));
    return outcome.kind === "task" ? { kind: "task", task: renamed(seat, outcome.task) } : outcome;
  };

  const to: Passage["to"] = async (seat, call, params) =>
    through(seat, seat.member.line ?? (await seat.member.open(signalOf(call))), call, params);

  const findPrompt = async (name: string, call: Call): Promise<{ readonly seat: Seat; readonly name: string }> => {
    const parts = splitName(name);
    const direct = parts && seats.get(parts.server);
    if (parts !== undefined && direct !== undefined) return { seat: direct, name: parts.name };
    const listed = await prompts({ signal: signalOf(call) });
    const found = listed.find((prompt) => promptName(prompt.server, prompt.name) === name);
    if (found === undefined) throw new McpError("invalid-params", `unknown prompt ${JSON.stringify(name)}`);
    return { seat: routes.seat(found.server), name: found.name };
  };

  return {
    to,
    async tool(call) {
      const { params } = call;
      const route = await findTool(call, routes, seats);
      const clear = route.isClear ? route.seat.member.line : undefined;
      const line = clear ?? (await toolCalls.admit(route, { args: params.arguments, signal: signalOf(call) }));
      return through(route.seat, line, call, { ...params, name: route.localName });
    },
    async prompt(call) {
      const { seat, name } = await findPrompt(call.params.name, call);
      return to(seat, call, { ...call.params, name });
    },
    async completePrompt(call) {
      const { ref } = call.params;
      if (ref.type !== "ref/prompt") throw new McpError("invalid-params", "the reference is none to a prompt");
      const { seat, name } = await findPrompt(ref.name, call);
      return to(seat, call, { ...call.params, ref: { ...ref, name } });
    },
    async task<M extends TaskMethod>(call: Call<M>): Promise<Outcome<M>> {
      const parts = splitName(call.params.taskId);
      const seat = parts && seats.get(parts.server);
      if (parts === undefined || seat === undefined) {
        throw new McpError("invalid-params", `unknown task ${JSON.stringify(call.params.taskId)}`);
      }
      const outcome = await to(seat, call, { ...call.params, taskId: parts.name });
      if (outcome.kind !== "complete") return outcome;
      const { result } = outcome;
      return { kind: "complete", result: isTask(result) ? renamed(seat, result) : result };
    },
  };
}

/** An alias leads somewhere only when the lists are at hand: a caller may have got it from another process. */
async function findTool(call: Call<"tools/call">, routes: Routes, seats: ReadonlyMap<string, Seat>) {
  const { name } = call.params;
  try {
    return routes.find(name);
  } catch (error) {
    if (splitName(name) !== undefined) throw error;
    const signal = signalOf(call);
    await Promise.all(
      [...seats.values()].map(async ({ member, tools }) =>
        tools.get(await member.open(signal), { signal }).catch(() => []),
      ),
    ).catch(() => {});
    return routes.find(name);
  }
}

/** What a prompt is called where only one name counts. */
export function promptName(server: string, name: string): string {
  return toAlias(qualify(server, name));
}

function isTask<T extends object>(result: T): result is T & { readonly taskId: string } {
  return "taskId" in result;
}

function renamed<T extends { readonly taskId: string }>({ name }: Seat, task: T): T {
  return { ...task, taskId: qualify(name, task.taskId) };
}
