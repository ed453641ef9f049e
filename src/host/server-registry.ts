import type { Target } from "../connect/target.ts";
import { McpError } from "../model/errors.ts";
import type { Clock } from "../std/clock.ts";
import { checkServerName } from "./host-tool.ts";
import { createSeat, type Seat, type SeatContext } from "./server-slot.ts";
import type { ServerSpec } from "./spec.ts";
import { type HostEvent, type ServerStatus, statusOf } from "./status.ts";

/** The servers of a host, which may change while it runs. */
interface Roster {
  readonly seats: ReadonlyMap<string, Seat>;
  add(name: string, spec: ServerSpec): void;
  remove(name: string): Promise<boolean>;
  update(specs: Readonly<Record<string, ServerSpec>>): Promise<void>;
  servers(): readonly ServerStatus[];
  settled(signal?: AbortSignal): Promise<readonly ServerStatus[]>;
  close(): Promise<void>;
}

interface RosterOptions {
  readonly clock: Clock;
  readonly seat: Omit<SeatContext, "onState" | "onChange" | "onTools" | "clock">;
  tell(event: HostEvent): void;
  /** Something is not as it was: what was known of tools may not hold. */
  onTurn(): void;
}

export function createRoster({ clock, seat: common, tell, onTurn }: RosterOptions): Roster {
  const seats = new Map<string, Seat>();
  let isClosed = false;

  const context: SeatContext = {
    ...common,
    clock,
    onState(server, state, before) {
      if (before.kind === "ready" || state.kind === "ready") onTurn();
      const seat = seats.get(server);
      if (seat !== undefined) tell({ kind: "state", server, status: statusOf(seat, clock.now()), before: before.kind });
    },
    onTools: onTurn,
    onChange(server, change) {
      if (change.kind === "tools") onTurn();
      tell({ kind: "changed", server, change });
    },
  };

  const add = (name: string, spec: ServerSpec): void => {
    if (isClosed) throw new McpError("connection-closed", "the host is closed");
    checkServerName(name);
    if (seats.has(name)) throw new McpError("invalid-config", `there is a server ${JSON.stringify(name)} already`);
    const seat = createSeat(name, spec, context);
    seats.set(name, seat);
    onTurn();
    tell({ kind: "added", server: name });
    // Who asks for it finds out what came of it; until then it is nobody's failure.
    if (seat.isEager) seat.member.open().catch(() => {});
  };

  const remove = async (name: string): Promise<boolean> => {
    const seat = seats.get(name);
    if (seat === undefined) return false;
    seats.delete(name);
    onTurn();
    tell({ kind: "removed", server: name });
    await seat.close();
    return true;
  };

  const update = async (specs: Readonly<Record<string, ServerSpec>>): Promise<void> => {
    const wanted = new Map(Object.entries(specs));
    for (const name of wanted.keys()) checkServerName(name);
    const gone = [...seats.values()].filter(({ name, spec }) => {
      const next = wanted.get(name);
      return next === undefined || !isSameSpec(spec, next);
    });
    const ends = gone.map(({ name }) => remove(name));
    for (const [name, spec] of wanted) {
      const seat = seats.get(name);
      if (seat === undefined) {
        add(name, spec);
      } else {
        // The order is that of what was given last.
        seats.delete(name);
        seats.set(name, seat);
      }
    }
    await Promise.all(ends);
  };

  const servers = (): readonly ServerStatus[] => [...seats.values()].map((seat) => statusOf(seat, clock.now()));

  return {
    seats,
    add,
    remove,
    update,
    servers,
    async settled(signal) {
      const open = [...seats.values()].filter(({ member }) => member.state.kind === "connecting");
      await Promise.all(open.map(({ member }) => member.open(signal).catch(() => {})));
      if (signal?.aborted !== true) return servers();
      throw new McpError("cancelled", "waiting was cancelled", { cause: signal.reason });
    },
    async close() {
      isClosed = true;
      await Promise.all([...seats.values()].map((seat) => seat.close()));
    },
  };
}

/** True when two servers are the same in every part. Functions and other things with a life of their own: the very same. */
export function isSameSpec(one: ServerSpec, other: ServerSpec): boolean {
  return isSame(one, other);
}

function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  }
  if (!isPlain(one) || !isPlain(other)) return false;
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].every((key) => isSame(one[key], other[key]));
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Servers by name: each a target, or a target with what else is to be said of it. */
export type Servers = Readonly<Record<string, Target | ServerSpec>>;

export function toSpecs(servers: Servers): Readonly<Record<string, ServerSpec>> {
  return Object.fromEntries(Object.entries(servers).map(([name, given]) => [name, toSpec(given)]));
}

function toSpec(given: Target | ServerSpec): ServerSpec {
  return typeof given === "object" && "target" in given ? given : { target: given };
}
