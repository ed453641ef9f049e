import type { ClientConnection, DialOptions } from "../connect/create-connect.ts";
import { type Failure, McpError, toError, toFailure } from "../protocol/errors.ts";
import { markUnsent } from "../protocol/safe-to-retry.ts";
import type { Clock } from "../std/clock.ts";
import type { Gate } from "../std/gate.ts";
import { orAborted } from "../std/lazy-abort.ts";
import { type ConnectionState, initial, type MemberEvent, type Rules, step } from "./connection-state.ts";
import { type ConnectionUpkeep, createUpkeep } from "./connection-upkeep.ts";

interface MemberOptions {
  readonly name: string;
  /** True for a server that is to be up whether somebody needs it or not. */
  readonly isEager: boolean;
  /** True where nothing tells that the server is gone but calls that fail: it is reached by requests of their own. */
  readonly isRemote: boolean;
  /** Why it is never used, if it is not. */
  readonly off?: Failure | undefined;
  readonly rules: Rules;
  readonly clock: Clock;
  /** Bounds how many servers are being connected to at once. */
  readonly gate: Gate;
  /** How long nobody has to use it before it is let go. 0 is off. */
  readonly idleTimeoutMs: number;
  /** How often a silent server is asked whether it is there, where its revision has a way to ask. 0 is off. */
  readonly pingIntervalMs: number;
  dial(how: AttemptOptions): Promise<ClientConnection>;
  /** Hears of every change of the state. Must not throw. */
  onState(state: ConnectionState, before: ConnectionState): void;
  /** Hears of every new connection, before anybody uses it. Must not throw. */
  onLine(line: ClientConnection): void;
}

/** One server of a host, through all its connections. */
export interface ServerConnection extends ConnectionUpkeep {
  readonly name: string;
  readonly state: ConnectionState;
  /** The connection; undefined unless there is one. */
  readonly line: ClientConnection | undefined;
  /** Connects in the background. */
  start(): void;
  /** The connection, made if need be. Rejects with the reason when it cannot be had, and when the signal aborts. */
  open(signal?: AbortSignal): Promise<ClientConnection>;
  /** Connects anew, whatever the state. */
  restart(): void;
  /** Lets go of the connection until somebody has signed in. */
  unauthorized(reason: Failure): void;
  /** Ends the connection for good. Idempotent, never rejects. */
  close(): Promise<void>;
}

export function createMember(options: MemberOptions): ServerConnection {
  const { name, isEager, off, rules, clock, onState, onLine } = options;
  let state: ConnectionState = off === undefined ? initial : { kind: "off", reason: off };
  let line: ClientConnection | undefined;
  /** How many attempts have failed, ever: who waits for one knows by it that theirs did. */
  let failed = 0;
  let waiting = 0;
  let stopTimer = (): void => {};
  const [turns, farewells] = [createTurns(), createFarewells()];

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
    if (state.kind !== "down" || !(isEager || waiting > 0) || (state.isLooping && !options.isRemote)) return;
    const { retryAt } = state;
    stopTimer = clock.after(Math.max(0, Math.ceil(retryAt - clock.now())), () => {
      // Timers of the platform may come a little early.
      if (clock.now() < retryAt) armRetry();
      else send({ kind: "due" });
    });
  };

  const wait = async (signal: AbortSignal | undefined): Promise<ClientConnection> => {
    const before = failed;
    const release = clock.hold?.();
    waiting++;
    send({ kind: "wanted" });
    armRetry();
    try {
      while (line === undefined) {
        checkWait(name, state, failed > before);
        await orAborted(turns.current, signal, (cause) => gaveUp(name, cause));
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
    start: () => send({ kind: "wanted" }),
    open: (signal) => (line === undefined ? wait(signal) : Promise.resolve(line)),
    ...upkeep.shared,
    restart: () => send({ kind: "restart" }),
    unauthorized: (reason) => send({ kind: "unauthorized", reason }),
    async close() {
      send({ kind: "close" });
      await attempts.done();
      await farewells.done();
    },
  };
}

function gaveUp(name: string, cause: unknown): McpError {
  return new McpError("cancelled", `waiting for server ${name} was cancelled`, { cause });
}

/** Throws when nobody should wait for a connection any longer. */
function checkWait(name: string, state: ConnectionState, hasFailed: boolean): void {
  const refusal = refusalOf(name, state, hasFailed);
  if (refusal !== undefined) throw refusal;
}

/** Why nobody should wait for a connection any longer. */
function refusalOf(name: string, state: ConnectionState, hasFailed: boolean): McpError | undefined {
  switch (state.kind) {
    case "closed":
      return closedError(name);
    case "off":
    case "needs-auth":
      return unavailable(name, state.reason);
    case "down":
      return state.isLooping || hasFailed ? unavailable(name, state.reason) : undefined;
    default:
      return undefined;
  }
}

/** The error of who needs a server that was closed for good. */
export function closedError(name: string): McpError {
  const message = `server ${name} is closed: it was removed or changed, or its host is closed`;
  return toError(markUnsent({ code: "connection-closed", message }));
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
function createFarewells(): { say(line: ClientConnection): void; done(): Promise<void> } {
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

/** The error of who needs a server that cannot be reached. It has the code, and the data, of the reason. */
export function unavailable(name: string, { code, message, data }: Failure): McpError {
  const prefix = `server ${name} is not available: `;
  const error = new McpError(
    code,
    message.startsWith(prefix) ? message : prefix + message,
    data === undefined ? {} : { data },
  );
  unavailabilities.add(error);
  return error;
}

/** True for an error of {@link unavailable}. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof McpError && unavailabilities.has(error);
}

const unavailabilities = new WeakSet<McpError>();

interface AttemptsOptions {
  readonly name: string;
  readonly gate: Gate;
  dial(how: AttemptOptions): Promise<ClientConnection>;
}

/** What an attempt to connect is told. */
type AttemptOptions = Required<Pick<DialOptions, "onAbandoned" | "inBackground">> & { readonly signal: AbortSignal };

interface AttemptsEvents {
  opened(line: ClientConnection): void;
  /** A connection that nobody wants any more. */
  tooLate(line: ClientConnection): void;
  failed(reason: Failure): void;
}

/** Tries to connect, one attempt at a time. */
interface Attempts {
  /** Gives up the attempt under way, if there is one, and starts another. */
  start(): void;
  stop(): void;
  /** Resolves when nothing is left of any attempt that did not lead to a connection. */
  done(): Promise<void>;
}

function createAttempts({ name, gate, dial }: AttemptsOptions, events: AttemptsEvents): Attempts {
  let current: AbortController | undefined;
  /** What has yet to end: attempts under way, and what those that took too long have started. */
  const pending = new Set<Promise<void>>();

  const track = (work: Promise<void>): Promise<void> => {
    const tracked = work.finally(() => pending.delete(tracked));
    pending.add(tracked);
    return tracked;
  };

  const stop = (): void => {
    current?.abort();
    current = undefined;
  };

  const run = async (mine: AbortController): Promise<void> => {
    if (mine.signal.aborted) return;
    try {
      // Whoever waits for the connection holds the process by itself.
      const line = await dial({ signal: mine.signal, onAbandoned: track, inBackground: true });
      if (current !== mine) return events.tooLate(line);
      current = undefined;
      events.opened(line);
    } catch (error) {
      if (current !== mine) return;
      current = undefined;
      events.failed(toFailure(asMcpError(name, error)));
    }
  };

  return {
    start() {
      stop();
      const mine = new AbortController();
      current = mine;
      gate.run(() => track(run(mine)));
    },
    stop,
    async done() {
      await Promise.all(pending);
    },
  };
}

function asMcpError(name: string, error: unknown): McpError {
  if (error instanceof McpError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new McpError("internal", `cannot connect to server ${name}: ${message}`, { cause: error });
}
