import type { Method } from "../protocol/methods.ts";
import { type CallOf, type OutcomeOf, signalOf } from "../protocol/service.ts";
import { type Awaitable, chain } from "../std/awaitable.ts";
import type { CallGuard, GuardSubject } from "./call-guard.ts";
import { type FindTool, type Route, routeBy } from "./calls.ts";
import { type TaskRef, unknownTask } from "./handles.ts";
import type { HostTool } from "./host-tool.ts";
import type { Outward } from "./outward.ts";
import type { OwnConnections } from "./own-connections.ts";
import type { ServerSlot } from "./server-slot.ts";
import type { TaskMethod } from "./task-calls.ts";

/** Tools as callers find them who may not know of all. */
interface GuardedTools {
  readonly find: FindTool;
  /** What the call of a tool that was found is judged by. Undefined where nobody judges. */
  subjectOf(route: Route, call: CallOf): GuardSubject | undefined;
  /** The same for a call about a task. Throws where the caller may not call the tool any more, but still end what runs. */
  subjectOfTask(slot: ServerSlot, ref: TaskRef, call: CallOf<TaskMethod>): GuardSubject | undefined;
  /** Sends a call, if its caller may make it. */
  pass: <M extends Method>(
    subject: GuardSubject | undefined,
    call: CallOf<M>,
    send: (call: CallOf<M>) => Promise<OutcomeOf<M>>,
  ) => Promise<OutcomeOf<M>>;
}

interface GuardedToolsOptions {
  readonly find: FindTool;
  readonly guard: CallGuard | undefined;
  readonly own: OwnConnections | undefined;
  readonly outward: Outward;
}

/** To a caller, a tool that it may not know of is a name like any other that leads nowhere. */
export function createGuardedTools({ find, guard, own, outward }: GuardedToolsOptions): GuardedTools {
  if (guard === undefined) {
    return { find, subjectOf: noSubject, subjectOfTask: noSubject, pass: (_, call, send) => send(call) };
  }
  const known = new WeakMap<CallOf, HostTool>();

  /** The route of a tool that its server lists to this caller. */
  const routeFor = (route: Route, call: CallOf): Awaitable<Route> =>
    own === undefined ? route : chain(own.listsOf(route.slot, call), (slot) => routeBy(route, slot));

  const listAnew = async (route: Route, call: CallOf): Promise<HostTool | undefined> => {
    const { slot, localName } = route;
    try {
      const signal = signalOf(call);
      const line = slot.member.line ?? (await slot.member.open(signal));
      const tools = await slot.tools.get(line, { signal });
      route.tool = tools.find((one) => one.localName === localName);
      return route.tool;
    } catch (error) {
      throw outward.error(slot.name, call, error);
    }
  };

  const judge = (route: Route, call: CallOf): Awaitable<boolean> => {
    const { slot, localName: name, tool } = route;
    const subject: GuardSubject = { kind: "tool", server: slot.name, name };
    const decide = (found: HostTool | undefined): boolean => {
      if (found !== undefined) known.set(call, found);
      return guard.mode === "report" || (found !== undefined && guard.sees(call, { ...subject, tool: found }));
    };
    if (tool !== undefined && slot.tools.last.includes(tool)) return decide(tool);
    // What is denied whatever the tool says of itself needs no look at its server.
    return guard.sees(call, subject) && listAnew(route, call).then(decide);
  };

  const isSeen = (route: Route, call: CallOf): Awaitable<boolean> =>
    chain(routeFor(route, call), (own) => judge(own, call));

  /** Where a name leads for others, it may lead elsewhere for this caller, or nowhere. */
  const findSeen = async (name: string, signal: AbortSignal | undefined, origin: CallOf): Promise<Route> => {
    const route = await find(name, { signal, origin });
    if (await isSeen(route, origin)) return route;
    const own = await find(name, { signal, origin, onlyListed: true });
    await isSeen(own, origin);
    return own;
  };

  return {
    find(name, caller) {
      const { origin } = caller;
      if (guard.mode === "open" || origin === undefined) return find(name, caller);
      return findSeen(name, signalOf(origin), origin);
    },
    subjectOf: ({ slot, localName: name }, call) => ({ kind: "tool", server: slot.name, name, tool: known.get(call) }),
    subjectOfTask(slot, { tool: name = "" }, call) {
      const tool = slot.tools.last.find(({ localName }) => localName === name);
      const subject: GuardSubject = { kind: "tool", server: slot.name, name, tool };
      if (call.method === "tasks/cancel" || guard.sees(call, subject)) return subject;
      throw unknownTask(call.params.taskId);
    },
    pass: (subject, call, send) => (subject === undefined ? send(call) : guard.pass(subject, call, send)),
  };
}

function noSubject(): undefined {}
