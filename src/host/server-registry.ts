import type { Target } from "../connect/target.ts";
import { McpError } from "../protocol/errors.ts";
import type { Clock } from "../std/clock.ts";
import { checkServerName } from "./host-tool.ts";
import type { CreateOwnSlot } from "./own-connections.ts";
import { createServerSlot, type ServerSlot, type ServerSlotContext } from "./server-slot.ts";
import type { ServerSpec } from "./spec.ts";
import { type HostEvent, type ServerStatus, statusOf } from "./status.ts";

/** The servers of a host, which may change while it runs. */
interface ServerRegistry {
  /** Makes a slot that only some callers use. It belongs to whoever asks for it. */
  ownSlot: CreateOwnSlot;
  readonly slots: ReadonlyMap<string, ServerSlot>;
  add(name: string, spec: ServerSpec): void;
  remove(name: string): Promise<boolean>;
  update(specs: Readonly<Record<string, ServerSpec>>): Promise<void>;
  servers(): readonly ServerStatus[];
  settled(signal?: AbortSignal): Promise<readonly ServerStatus[]>;
  close(): Promise<void>;
}

interface ServerRegistryOptions {
  readonly clock: Clock;
  readonly slot: Omit<ServerSlotContext, "onState" | "onChange" | "onTools" | "clock">;
  readonly shape: ((name: string, spec: ServerSpec) => ServerSpec) | undefined;
  tell(event: HostEvent): void;
  /** Something is not as it was: what was known of tools may not hold. */
  onTurn(): void;
}

export function createServerRegistry(options: ServerRegistryOptions): ServerRegistry {
  const { clock, slot: common, shape = (_, spec) => spec, tell, onTurn } = options;
  const slots = new Map<string, ServerSlot>();
  let isClosed = false;

  const context: ServerSlotContext = {
    ...common,
    clock,
    onState(server, state, before) {
      if (before.kind === "ready" || state.kind === "ready") onTurn();
      const slot = slots.get(server);
      if (slot !== undefined) tell({ kind: "state", server, status: statusOf(slot, clock.now()), before: before.kind });
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
    if (slots.has(name)) throw new McpError("invalid-config", `there is a server ${JSON.stringify(name)} already`);
    const slot = createServerSlot(name, shape(name, spec), context);
    slots.set(name, slot);
    onTurn();
    tell({ kind: "added", server: name });
    if (slot.isEager) slot.member.start();
  };

  const remove = async (name: string): Promise<boolean> => {
    const slot = slots.get(name);
    if (slot === undefined) return false;
    slots.delete(name);
    onTurn();
    tell({ kind: "removed", server: name });
    await slot.close();
    return true;
  };

  const update = async (specs: Readonly<Record<string, ServerSpec>>): Promise<void> => {
    const wanted = new Map(Object.entries(specs));
    for (const name of wanted.keys()) checkServerName(name);
    const gone = [...slots.values()].filter(({ name, spec }) => {
      const next = wanted.get(name);
      return next === undefined || !isSameSpec(spec, shape(name, next));
    });
    const ends = gone.map(({ name }) => remove(name));
    for (const [name, spec] of wanted) {
      const slot = slots.get(name);
      if (slot === undefined) {
        add(name, spec);
      } else {
        // The order is that of what was given last.
        slots.delete(name);
        slots.set(name, slot);
      }
    }
    await Promise.all(ends);
  };

  const servers = (): readonly ServerStatus[] => [...slots.values()].map((slot) => statusOf(slot, clock.now()));

  const ownSlot: CreateOwnSlot = (shared, own) => {
    const { connectOptions, ...given } = own;
    const spec = {
      ...shared.spec,
      connect: "lazy" as const,
      connectOptions: { ...shared.spec.connectOptions, ...connectOptions },
    };
    return createServerSlot(shared.name, spec, { ...context, ...given, onTools: () => {} }, shared);
  };

  return {
    ownSlot,
    slots,
    add,
    remove,
    update,
    servers,
    async settled(signal) {
      const open = [...slots.values()].filter(({ member }) => member.state.kind === "connecting");
      await Promise.all(open.map(({ member }) => member.open(signal).catch(() => {})));
      if (signal?.aborted !== true) return servers();
      throw new McpError("cancelled", "waiting was cancelled", { cause: signal.reason });
    },
    async close() {
      isClosed = true;
      await Promise.all([...slots.values()].map((slot) => slot.close()));
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
