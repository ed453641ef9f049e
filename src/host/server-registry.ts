import type { Target } from "../connect/target.ts";
import { McpError } from "../protocol/errors.ts";
import type { Clock } from "../std/clock.ts";
import { checkServerName } from "./host-tool.ts";
import type { CreateOwnSlot } from "./own-connections.ts";
import { createServerSlot, type ServerSlot, type ServerSlotContext } from "./server-slot.ts";
import type { HostConnectOptions, ServerSpec } from "./spec.ts";
import { type HostEvent, type ServerStatus, statusOf } from "./status.ts";

/** The servers of a host, which may change while it runs. */
interface ServerRegistry {
  /** Makes a slot that only some callers use. It belongs to whoever asks for it. */
  ownSlot: CreateOwnSlot;
  readonly slots: ReadonlyMap<string, ServerSlot>;
  add(name: string, spec: ServerSpec): void;
  /** Resolves when the calls under way are over, and the server is closed. */
  remove(name: string): Promise<boolean>;
  /** Resolves when what was replaced is closed. What is new is there at once. */
  update(specs: Readonly<Record<string, ServerSpec>>): Promise<void>;
  servers(): readonly ServerStatus[];
  settled(signal?: AbortSignal): Promise<readonly ServerStatus[]>;
  close(): Promise<void>;
}

interface ServerRegistryOptions {
  readonly clock: Clock;
  readonly slot: Omit<ServerSlotContext, "onState" | "onChange" | "onTools" | "clock">;
  readonly shape: ((name: string, spec: ServerSpec) => ServerSpec) | undefined;
  /** How long calls may go on at a server that was removed or replaced. */
  readonly drainMs: number;
  tell(event: HostEvent): void;
  /** Closes what belongs to a server that was removed, besides its slot: at the latest when `enough` resolves. */
  retire(slot: ServerSlot, enough: Promise<void>): Promise<void>;
  /** Something is not as it was: what was known of tools may not hold. */
  onTurn(): void;
}

export function createServerRegistry(options: ServerRegistryOptions): ServerRegistry {
  const { clock, slot: common, shape = (_, spec) => spec, tell, onTurn } = options;
  const slots = new Map<string, ServerSlot>();
  const retirement = createRetirement(options);
  let isClosed = false;

  const context = { ...common, clock, onTools: onTurn };

  /** What a slot says when it is not in the table any more is not about the server of its name. */
  const create = (name: string, spec: ServerSpec): ServerSlot => {
    const slot = createServerSlot(name, spec, {
      ...context,
      onState(server, state, before) {
        if (slots.get(server) !== slot) return;
        if (before.kind === "ready" || state.kind === "ready") onTurn();
        tell({ kind: "state", server, status: statusOf(slot, clock.now()), before: before.kind });
      },
      onChange(server, change) {
        if (slots.get(server) !== slot) return;
        if (change.kind === "tools") onTurn();
        tell({ kind: "changed", server, change });
      },
    });
    return slot;
  };

  const add = (name: string, spec: ServerSpec): void => {
    if (isClosed) throw new McpError("connection-closed", "the host is closed");
    checkServerName(name);
    if (slots.has(name)) throw new McpError("invalid-config", `there is a server ${JSON.stringify(name)} already`);
    const slot = create(name, shape(name, spec));
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
    if (slot.member.line !== undefined) for (const change of allLists) tell({ kind: "changed", server: name, change });
    await retirement.retire(slot);
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
    const spec = ownSpec(shared.spec, connectOptions);
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
      await Promise.all([retirement.close(), ...[...slots.values()].map((slot) => slot.close())]);
    },
  };
}

function ownSpec(spec: ServerSpec, connectOptions: HostConnectOptions | undefined): ServerSpec {
  return { ...spec, connect: "lazy", connectOptions: { ...spec.connectOptions, ...connectOptions } };
}

/** A server that goes takes its lists away. */
const allLists = [{ kind: "tools" }, { kind: "prompts" }, { kind: "resources" }] as const;

/** Closes slots that are not in the table any more, once the calls that are under way there are over. */
function createRetirement({ clock, drainMs, retire: retireOwn }: ServerRegistryOptions) {
  const pending = new Map<Promise<void>, () => void>();

  const drain = async (slot: ServerSlot, enough: Promise<void>): Promise<void> => {
    slot.follower.stop();
    const unused = Promise.race([slot.member.unused(), enough]);
    await Promise.all([unused, retireOwn(slot, enough)]);
    // Calls that waited for their turn may have got a connection of their own meanwhile.
    await retireOwn(slot, enough);
    await slot.close();
  };

  return {
    async retire(slot: ServerSlot): Promise<void> {
      let stop = (): void => {};
      const enough = new Promise<void>((resolve) => {
        stop = resolve;
      });
      const stopTimer = drainMs === 0 ? stop() : clock.after(drainMs, stop);
      const drained = drain(slot, enough).finally(() => {
        pending.delete(drained);
        stopTimer?.();
      });
      pending.set(drained, stop);
      await drained;
    },
    async close(): Promise<void> {
      const all = [...pending.keys()];
      for (const stop of pending.values()) stop();
      await Promise.all(all);
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
