import type { Redis } from "ioredis";
import { systemClock } from "../../std/clock.ts";
import { createDeadlines, type Deadline, type Deadlines } from "../../std/deadlines.ts";
import { StoreError } from "../store.ts";
import { endClient, runScript } from "./redis-client.ts";
import { failureOf, type Teller } from "./redis-failure.ts";
import type { ScriptName } from "./redis-scripts.ts";

/**
 * One connection to Redis that comes back when it breaks.
 *
 * A command that cannot be sent waits, and one whose connection broke before its answer is sent again, in the order of
 * the calls: so it must do no harm to carry it out twice. After `waitMs` without an answer it rejects with `unavailable`,
 * and nobody knows whether it was carried out.
 */
export interface Link {
  run<T>(send: (redis: Redis) => Promise<T>): Promise<T>;
  script(name: ScriptName, args: readonly string[]): Promise<unknown>;
  /** Sends once, if it is connected. Nobody hears what comes of it. */
  tell(send: (redis: Redis) => Promise<unknown>): void;
  /** What has no answer yet rejects with `closed`. */
  close(): Promise<void>;
}

/** What a link tells of itself. */
export interface LinkEvents {
  /** It is connected, for the first time or again. */
  onUp?(redis: Redis): void;
  /** A message came by a channel. */
  onMessage?(channel: string, text: string): void;
}

export interface LinkOptions extends LinkEvents {
  readonly client: Redis;
  readonly teller: Teller;
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

export function createLink({ client, teller, waitMs, maxWaiting, onUp, onMessage }: LinkOptions): Link {
  const deadlines = createDeadlines(systemClock);
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
      fail(call, teller.rejection(error));
      return;
    }
    reason = failure === "connection" ? "the connection broke" : teller.say(error);
    call.sent = false;
    waiting.add(call);
    // Who became a replica sends us away, and a new connection leads to the new primary.
    if (failure === "connection" || reason.includes("READONLY")) drop();
    else systemClock.after(BUSY_MS, flush);
  };

  const attempt = (call: Call): void => {
    waiting.delete(call);
    call.sent = true;
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
    fail(call, new StoreError("unavailable", `redis: ${teller.where} gave no answer in ${waitMs} ms: ${reason}`));
  };

  client.on("ready", () => {
    if (state === "closed") return;
    state = "up";
    reason = "it says nothing";
    onUp?.(client);
    flush();
  });
  limitGreeting(client, deadlines, waitMs);
  if (onMessage !== undefined) client.on("message", onMessage);
  client.on("close", () => {
    if (state === "up") state = "down";
  });
  client.on("error", (error) => {
    reason = teller.say(error);
    // Whom Redis does not let in from the start need not wait. Later, the password may be on its way.
    if (state === "new" && failureOf(error) === "refused") failAll(teller.rejection(error));
  });

  const run: Link["run"] = async (send) => {
    if (state === "closed") throw new StoreError("closed", "the store is closed");
    if (waiting.size >= maxWaiting) throw new StoreError("unavailable", `redis: ${waiting.size} calls wait already`);
    if (client.status === "wait") client.connect().catch(() => {});
    return new Promise((resolve, reject) => {
      const deadline = deadlines.start({ idleMs: 0, totalMs: waitMs }, () => expire(call));
      const answer = (value: unknown): void => resolve(value as Awaited<ReturnType<typeof send>>);
      const call: Call = { number: count++, deadline, send: async () => send(client), answer, reject, sent: false };
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
      failAll(new StoreError("closed", "the store is closed"));
      await endClient(client);
    },
  };
}

/** Gives up a connection that somebody took who then says nothing. */
function limitGreeting(client: Redis, deadlines: Deadlines, waitMs: number): void {
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
