import { toAlias } from "../bridge/alias.ts";
import type { ConnectOptions, Dial, Line } from "../connect/create-connect.ts";
import { isProgram } from "../connect/target.ts";
import type { McpError } from "../model/errors.ts";
import type { Era } from "../model/revision.ts";
import type { Change } from "../model/subscription.ts";
import type { Tool } from "../model/tool.ts";
import type { Clock } from "../std/clock.ts";
import type { Gate } from "../std/gate.ts";
import { createFollower, type Follower } from "./follow.ts";
import {
  type HostPrompt,
  type HostResource,
  type HostResourceTemplate,
  type HostTool,
  toHostTool,
} from "./host-tool.ts";
import { createMember, type Member } from "./member.ts";
import type { MemberState, Rules } from "./member-state.ts";
import { qualify } from "./names.ts";
import { answersFor, type QuestionOptions } from "./questions.ts";
import { createShelf, listsOf, type Shelf } from "./shelf.ts";
import type { ServerOptions, ServerSpec, Trust } from "./spec.ts";

/** The place of one server in a host: its connection, its lists, its changes. */
export interface Seat {
  readonly name: string;
  readonly spec: ServerSpec;
  readonly member: Member;
  readonly isEager: boolean;
  readonly tools: Shelf<"tools", HostTool>;
  readonly resources: Shelf<"resources", HostResource>;
  readonly resourceTemplates: Shelf<"resourceTemplates", HostResourceTemplate>;
  readonly prompts: Shelf<"prompts", HostPrompt>;
  readonly follower: Follower;
  close(): Promise<void>;
}

/** What all seats of a host have in common. */
export interface SeatContext {
  readonly dial: Dial;
  readonly clock: Clock;
  readonly gate: Gate;
  readonly rules: Rules;
  readonly connect: "eager" | "lazy";
  readonly idleMs: number;
  readonly healthMs: number;
  /** How long to keep lists of servers that announce no changes. */
  readonly keepListsMs: number;
  readonly options: ServerOptions;
  /** Why a server must not be connected to, if it must not. */
  objection(server: string, spec: ServerSpec): McpError | undefined;
  /** What a server spoke last time, where that is known. */
  era(server: string): Era | undefined;
  /** Read whenever a connection is made: the roots may be others by then. */
  questions(): QuestionOptions;
  onState(server: string, state: MemberState, before: MemberState): void;
  onChange(server: string, change: Change): void;
}

export function createSeat(name: string, spec: ServerSpec, context: SeatContext): Seat {
  const { clock, gate, rules, keepListsMs } = context;
  const isEager = (spec.connect ?? context.connect) === "eager";
  const common = { clock, keepMs: keepListsMs, listening: () => soon(follower.listening, clock) };
  const tools = createShelf({ ...common, kind: "tools", make: (tool: Tool) => toHostTool(name, tool, aliasOf) });
  const resources = createShelf({ ...common, kind: "resources", make: (item) => ({ ...item, server: name }) });
  const resourceTemplates = createShelf({
    ...common,
    kind: "resourceTemplates",
    make: (item) => ({ ...item, server: name }),
  });
  const prompts = createShelf({ ...common, kind: "prompts", make: (item) => ({ ...item, server: name }) });
  const shelves = { tools, resources, resourceTemplates, prompts };

  const follower = createFollower({
    clock,
    retryMs: 1_000,
    onChange(change) {
      for (const kind of listsOf(change)) shelves[kind].forget();
      context.onChange(name, change);
    },
  });

  const member = createMember({
    name,
    isEager,
    off: spec.off,
    rules,
    clock,
    gate,
    idleMs: spec.idleMs ?? context.idleMs,
    healthMs: context.healthMs,
    async dial(signal) {
      const objection = context.objection(name, spec);
      if (objection !== undefined) throw objection;
      return context.dial(spec.target, { ...optionsFor(name, spec, context), signal });
    },
    onLine: (line: Line) => follower.start(line),
    onState(state, before) {
      if (before.kind === "ready") {
        follower.stop();
        for (const shelf of Object.values(shelves)) shelf.forget();
      }
      context.onState(name, state, before);
    },
  });

  return { name, spec, member, isEager, ...shelves, follower, close: () => member.close() };
}

/** Waits, but not for long: a server that takes its time to listen may be listed all the same. */
function soon(work: Promise<void>, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.after(1_000, resolve);
    void work.then(() => {
      stop();
      resolve();
    });
  });
}

const aliasOf = (server: string, tool: string): string => toAlias(qualify(server, tool));

function optionsFor(name: string, spec: ServerSpec, context: SeatContext): ConnectOptions {
  const { options, questions, clock } = context;
  const era = context.era(name);
  return {
    ...(era !== undefined && { era }),
    ...options,
    ...spec.options,
    ...answersFor(name, questions(), trustOf(spec)),
    clock,
  };
}

/** What a server is trusted with, all of it said. */
export function trustOf({ trust = {}, target }: ServerSpec): Required<Trust> {
  return { ask: trust.ask ?? true, sample: trust.sample ?? false, roots: trust.roots ?? isProgram(target) };
}
