import type { Line } from "../connect/create-connect.ts";
import { type Failure, McpError } from "../model/errors.ts";
import type { Clock } from "../std/clock.ts";
import type { Gate } from "../std/gate.ts";
import { createAttempts } from "./attempts.ts";
import { initial, type MemberEvent, type MemberState, type Rules, step } from "./member-state.ts";
import { createUpkeep } from "./upkeep.ts";

export interface MemberOptions {
  readonly name: string;
  /** True for a server that is to be up whether somebody needs it or not. */
  readonly isEager: boolean;
  /** Why it is never used, if it is not. */
  readonly off?: Failure | undefined;
  readonly rules: Rules;
  readonly clock: Clock;
  /** Bounds how many servers are being connected to at once. */
  readonly gate: Gate;
  /** How long nobody has to use it before it is let go. 0 is off. */
  readonly idleMs: number;
  /** How often a silent server is asked whether it is there, where its revision has a way to ask. 0 is off. */
  readonly healthMs: number;
  dial(signal: AbortSignal): Promise<Line>;
  /** Hears of every change of the state. Must not throw. */
  onState(state: MemberState, before: MemberState): void;
  /** Hears of every new connection, before anybody uses it. Must not throw. */
  onLine(line: Line): void;
}

/** One server of a host, through all its connections. */
export interface Member {
  readonly name: string;
  readonly state: MemberState;
  /** The connection; undefined unless there is one. */
  readonly line: Line | undefined;
  /** The connection, made if need be. Rejects with the reason when it cannot be had, and when the signal aborts. */
  open(signal?: AbortSignal): Promise<Line>;
  /** Counts work as use: a server in use is not let go. */
  use<T>(work: Promise<T>): Promise<T>;
  /** Connects anew, whatever the state. */
  restart(): void;
  /** Ends the connection for good. Idempotent, never rejects. */
  close(): Promise<void>;
}

export function createMember(options: MemberOptions): Member {
  const { name, isEager, off, rules, clock, onState, onLine } = options;
  let state: MemberState = off === undefined ? initial : { kind: "off", reason: off };
  let line: Line | undefined;
  /** How many attempts have failed, ever: who waits for one knows by it that theirs did. */
  let failed = 0;
  let waiting = 0;
  let stopTimer = (): void => {};
  const turns = createTurns();
  const farewells = createFarewells();

  const send = (event: MemberEvent): void => {
    const before = state;
    state = step(before, event, { now: clock.now(), rules });
    if (state === before) return;
    if (state.kind !== "ready") letGo();
    if (state.kind === "connecting") attempts.start();
    armRetry();
    onState(state, before);
    turns.next();
  };

  const upkeep = createUpkeep(options, {
    unused: () => send({ kind: "unused" }),
    lost: (reason) => send({ kind: "ended", reason }),
  });

  const attempts = createAttempts(options, {
    opened(opened) {
      line = opened;
      onLine(opened);
      upkeep.start(opened);
      void opened.connection.ended.then((reason) => line === opened && send({ kind: "ended", reason }));
      send({ kind: "opened" });
    },
    tooLate: farewells.say,
    failed(reason) {
      failed++;
      send({ kind: "failed", reason });
    },
  });

  const letGo = (): void => {
    attempts.stop();
    upkeep.stop();
    if (line !== undefined) farewells.say(line);
    line = undefined;
  };

  const armRetry = (): void => {
    stopTimer();
    if (state.kind !== "down" || state.isLooping || !(isEager || waiting > 0)) return;
    const { retryAt } = state;
    stopTimer = clock.after(Math.max(0, Math.ceil(retryAt - clock.now())), () => {
      // Timers of the platform may come a little early.
      if (clock.now() < retryAt) armRetry();
      else send({ kind: "due" });
    });
  };

  const wait = async (signal: AbortSignal | undefined): Promise<Line> => {
    const before = failed;
    const release = clock.hold?.();
    waiting++;
    send({ kind: "wanted" });
    armRetry();
    try {
      while (line === undefined) {
        const refusal = refusalOf(name, state, failed > before);
        if (refusal !== undefined) throw refusal;
        await orAborted(turns.current, name, signal);
      }
      return line;
    } finally {
      waiting--;
      release?.();
    }
  };

  return {
    name,
    get state() {
      return state;
    },
    get line() {
      return line;
    },
    open: (signal) => (line === undefined ? wait(signal) : Promise.resolve(line)),
    use: upkeep.use,
    restart: () => send({ kind: "restart" }),
    close() {
      send({ kind: "close" });
      return farewells.done();
    },
  };
}

/** Why nobody should wait for a connection any longer. */
function refusalOf(name: string, state: MemberState, hasFailed: boolean): McpError | undefined {
  switch (state.kind) {
    case "closed":
      return new McpError("connection-closed", `server ${name}: the host is closed`);
    case "off":
      return unavailable(name, state.reason);
    case "down":
      return state.isLooping || hasFailed ? unavailable(name, state.reason) : undefined;
    default:
      return undefined;
  }
}

/** Something that many wait for, again and again. */
function createTurns(): { readonly current: Promise<void>; next(): void } {
  let wake = (): void => {};
  const arm = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
    });
  let current = arm();
  return {
    get current() {
      return current;
    },
    next() {
      wake();
      current = arm();
    },
  };
}

/** Closes connections, and knows when all are closed. */
function createFarewells(): { say(line: Line): void; done(): Promise<void> } {
  const closing = new Set<Promise<void>>();
  return {
    say({ client }) {
      const closed = client.close().finally(() => closing.delete(closed));
      closing.add(closed);
    },
    async done() {
      await Promise.all(closing);
    },
  };
}

/** Waits for one of two: something changes, or the caller gives up. */
async function orAborted(changed: Promise<void>, name: string, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return changed;
  const gaveUp = (): McpError =>
    new McpError("cancelled", `waiting for server ${name} was cancelled`, { cause: signal.reason });
  if (signal.aborted) throw gaveUp();
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(gaveUp());
    signal.addEventListener("abort", onAbort, { once: true });
    stop = () => signal.removeEventListener("abort", onAbort);
  });
  try {
    await Promise.race([changed, aborted]);
  } finally {
    stop();
  }
}

/** The error of who needs a server that cannot be reached. It has the code, and the data, of the reason. */
export function unavailable(name: string, { code, message, data }: Failure): McpError {
  const prefix = `server ${name} is not available: `;
  return new McpError(
    code,
    message.startsWith(prefix) ? message : prefix + message,
    data === undefined ? {} : { data },
  );
}
