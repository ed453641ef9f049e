import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { systemClock } from "../../std/clock.ts";
import { createDeadlines, type Deadline, type Deadlines } from "../../std/deadlines.ts";
import { StoreError } from "../store.ts";
import { endClient, type RedisAddress, runScript } from "./redis-client.ts";
import type { KeyPart, Keys, ScriptName } from "./redis-scripts.ts";

/**
 * One connection to Redis that comes back when it breaks.
 *
 * A command that cannot be sent waits, and one whose connection broke before its answer is sent again, in the order of
 * the calls: so it must do no harm to carry it out twice. After `waitMs` without an answer it rejects with `unavailable`,
 * and nobody knows whether it was carried out.
 */
export interface RedisConnection {
  run<T>(send: (redis: Redis) => Promise<T>): Promise<T>;
  script(name: ScriptName, args: readonly string[]): Promise<unknown>;
  /** Sends once, if it is connected. The result is ignored. */
  tell(send: (redis: Redis) => Promise<unknown>): void;
  /** What has no answer yet rejects with `closed`. */
  close(): Promise<void>;
}

/** Events of a connection. */
export interface ConnectionEvents {
  /** It is connected, for the first time or again. */
  onUp?(redis: Redis): void;
  /** A message came by a channel. */
  onMessage?(channel: string, text: string): void;
}

interface ConnectionOptions extends ConnectionEvents {
  readonly client: Redis;
  readonly errors: RedisErrors;
  readonly waitMs: number;
  /** How many calls may wait for a connection. */
  readonly maxWaiting: number;
}

interface Call {
  readonly number: number;
  readonly deadline: Deadline;
  send(): Promise<unknown>;
  answer(value: unknown): void;
  reject(error: StoreError): void;
  sent: boolean;
}

/** How long to wait before Redis is asked again for what it cannot do now. */
const BUSY_MS = 100;

export function createConnection({
  client,
  errors,
  waitMs,
  maxWaiting,
  onUp,
  onMessage,
}: ConnectionOptions): RedisConnection {
  const deadlines = createDeadlines(systemClock);
  const limits = { idleMs: 0, totalMs: waitMs };
  const { calls, waiting, settle, fail, failAll } = createCalls();
  let count = 0;
  let state: "new" | "up" | "down" | "closed" = "new";
  let reason = "it says nothing";

  /** The connection is of no use. Another one is made. */
  const drop = (): void => {
    if (state !== "up") return;
    state = "down";
    client.disconnect(true);
  };

  const retry = (call: Call, error: unknown): void => {
    if (!calls.has(call)) return;
    const failure = failureOf(error);
    if (failure === "rejected" || failure === "refused") {
      fail(call, errors.rejection(error));
      return;
    }
    reason = failure === "connection" ? "the connection broke" : errors.say(error);
    call.sent = false;
    waiting.add(call);
    // A node that became a replica rejects writes; a new connection leads to the new primary.
    if (failure === "connection" || reason.includes("READONLY")) drop();
    else systemClock.after(BUSY_MS, flush);
  };

  const attempt = (call: Call): void => {
    waiting.delete(call);
    call.sent = true;
    writeTogether(client.stream);
    call.send().then(
      (value) => {
        if (settle(call)) call.answer(value);
      },
      (error: unknown) => retry(call, error),
    );
  };

  const flush = (): void => {
    if (state === "up") for (const call of [...waiting].sort((a, b) => a.number - b.number)) attempt(call);
  };

  const expire = (call: Call): void => {
    if (call.sent) drop();
    fail(call, new StoreError("unavailable", `redis: ${errors.where} gave no answer in ${waitMs} ms: ${reason}`));
  };

  client.on("ready", () => {
    if (state === "closed") return;
    state = "up";
    reason = "it says nothing";
    onUp?.(client);
    flush();
  });
  limitHandshake(client, deadlines, waitMs);
  if (onMessage !== undefined) client.on("message", onMessage);
  client.on("close", () => {
    if (state === "up") state = "down";
  });
  client.on("error", (error) => {
    reason = errors.say(error);
    // Whom Redis does not let in from the start need not wait. Later, the password may be on its way.
    if (state === "new" && failureOf(error) === "refused") failAll(errors.rejection(error));
  });

  const run = <T>(send: (redis: Redis) => Promise<T>): Promise<T> => {
    if (state === "closed") return Promise.reject(isClosed());
    if (waiting.size >= maxWaiting) return Promise.reject(isFull(waiting.size));
    if (client.status === "wait") client.connect().catch(() => {});
    return new Promise<T>((resolve, reject) => {
      const deadline = deadlines.start(limits, () => expire(call));
      const answer = resolve as (value: unknown) => void;
      const call: Call = { number: count++, deadline, send: () => send(client), answer, reject, sent: false };
      calls.add(call);
      if (state === "up") attempt(call);
      else waiting.add(call);
    });
  };

  return {
    run,
    script: (name, args) => run((redis) => runScript(redis, name, args)),
    tell(send) {
      if (state === "up") send(client).catch(() => {});
    },
    async close() {
      if (state === "closed") return;
      state = "closed";
      failAll(isClosed());
      await endClient(client);
    },
  };
}

function isClosed(): StoreError {
  return new StoreError("closed", "the store is closed");
}

function isFull(waiting: number): StoreError {
  return new StoreError("unavailable", `redis: ${waiting} calls wait already`);
}

/** Commands of one turn go out in one write. */
function writeTogether(stream: Redis["stream"]): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

/** Closes a connection that was accepted and does not answer. */
function limitHandshake(client: Redis, deadlines: Deadlines, waitMs: number): void {
  let deadline: Deadline | undefined;
  const stop = (): void => deadline?.stop();
  client.on("connect", () => {
    stop();
    deadline = deadlines.start({ idleMs: 0, totalMs: waitMs }, () => client.disconnect(true));
  });
  client.on("ready", stop);
  client.on("close", stop);
}

/** Which calls have no answer yet, and which of them wait to be sent. */
interface Calls {
  readonly calls: Set<Call>;
  readonly waiting: Set<Call>;
  /** False when it was over before. */
  settle(call: Call): boolean;
  fail(call: Call, error: StoreError): void;
  failAll(error: StoreError): void;
}

function createCalls(): Calls {
  const calls = new Set<Call>();
  const waiting = new Set<Call>();

  const settle = (call: Call): boolean => {
    waiting.delete(call);
    call.deadline.stop();
    return calls.delete(call);
  };

  const fail = (call: Call, error: StoreError): void => {
    if (settle(call)) call.reject(error);
  };

  return {
    calls,
    waiting,
    settle,
    fail,
    failAll(error) {
      for (const call of calls) fail(call, error);
    },
  };
}

/** Why a command did not work, as far as it matters for what to do next. */
type RedisFailure =
  /** The connection broke, or there was none. Whether the command was carried out is not known. */
  | "connection"
  /** Redis cannot do it now. It did nothing, and may do it soon. */
  | "busy"
  /** Redis does not let us in. */
  | "refused"
  /** Redis does not do it. */
  | "rejected";

const busy = /\b(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS)\b/;
const refused = /\b(WRONGPASS|NOAUTH|invalid password|DB index is out of range|invalid DB index)\b/;
const unknown = /\b(NOPERM|unknown command|unknown subcommand|wrong number of arguments)\b/i;

function failureOf(error: unknown): RedisFailure {
  if (!(error instanceof Error) || error.name !== "ReplyError") return "connection";
  if (busy.test(error.message)) return "busy";
  return refused.test(error.message) ? "refused" : "rejected";
}

/** Reports failures without credentials. */
interface RedisErrors {
  /** Host and port. */
  readonly where: string;
  /** What an error says. The error itself must not be passed on: it holds what was sent. */
  say(error: unknown): string;
  /** The error for the caller whose command Redis answered with an error. */
  rejection(error: unknown): StoreError;
}

export function createRedisErrors({ host, port, password }: RedisAddress): RedisErrors {
  const where = `${host.includes(":") ? `[${host}]` : host}:${port}`;

  const say = (error: unknown): string => {
    const text = textOf(error);
    if (password === undefined) return text;
    return text.replaceAll(password, "***").replaceAll(encodeURIComponent(password), "***");
  };

  return {
    where,
    say,
    rejection(error) {
      const text = say(error);
      if (failureOf(error) === "refused") return new StoreError("invalid", `redis: ${where} refused us: ${text}`);
      return new StoreError(unknown.test(text) ? "unsupported" : "unavailable", `redis: ${where}: ${text}`);
    },
  };
}

/** Errors of several attempts at once have no text of their own. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}

/** What the parts of a store in Redis are made of. */
export interface RedisParts {
  readonly keys: Keys;
  readonly commands: RedisConnection;
  /** How long a call may take. */
  readonly waitMs: number;
  /** Carries out a change exactly once, as part of what has this name. */
  change(script: ScriptName, change: Change): Promise<string>;
}

interface Change {
  readonly name: string;
  readonly keys: readonly KeyPart[];
  readonly args: readonly string[];
  /** A new one, unless it is also for something else. */
  readonly id?: string;
}

/** Texts that are unique. */
export function createIds(): () => string {
  const owner = randomBytes(9).toString("base64url");
  let count = 0;
  return () => `${owner}.${(count++).toString(36)}`;
}

/** How long Redis remembers that it carried out a change, beyond the time in which it may be sent again. */
const MARGIN_MS = 5_000;

export function redisParts(commands: RedisConnection, keys: Keys, waitMs: number): RedisParts {
  const newId = createIds();
  const memory = String(waitMs + MARGIN_MS);
  return {
    keys,
    commands,
    waitMs,
    async change(script, { name, keys: parts, args, id = newId() }) {
      const owned = parts.map((part) => keys(name, part));
      return String(await commands.script(script, [keys(name, `did:${id}`), ...owned, memory, ...args]));
    },
  };
}

/** A time to live as Redis takes it. */
export function ttlText(ttlMs: number): string {
  return String(Math.min(Math.ceil(ttlMs), LONGEST_MS));
}

/** A thousand years: Redis refuses times that it cannot add to now. */
const LONGEST_MS = 31_536_000_000_000;
