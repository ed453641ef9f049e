import type { JsonObject } from "../json/json.ts";
import type { Connection } from "../model/connection.ts";
import { McpError, toError } from "../model/errors.ts";
import type { LogLevel } from "../model/logging.ts";
import type { Method, Params, Result } from "../model/methods.ts";
import { type Ask, type Call, createCall, type Notify, type Outcome, type Service } from "../model/service.ts";
import type { Task, TaskTerms } from "../model/task.ts";
import type { Clock } from "../std/clock.ts";
import type { Deadline, DeadlineLimits, Deadlines } from "../std/deadlines.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Linked, LinkedSet } from "../std/linked-set.ts";
import type { AnswerDesk } from "./answers.ts";
import type { Follow } from "./follow.ts";
import { type InputRequired, nextRound, type Round } from "./input.ts";
import { onSignal } from "./shared-signal.ts";

/** What the exchanges of one client share. */
export interface Line {
  readonly connection: Connection;
  readonly desk: AnswerDesk;
  readonly clock: RememberingClock;
  readonly deadlines: Deadlines;
  readonly maxRounds: number;
  /** What every call states about tasks. */
  readonly tasks: TaskTerms | undefined;
  /** Waits for the end of a task. Absent where none may come. */
  readonly follow: Follow | undefined;
  /** The exchanges that are not settled, but for those aside. */
  readonly open: LinkedSet<OpenExchange>;
  /** The exchanges whose calls were answered by a task, and those that serve them. They count as nobody's. */
  readonly aside: LinkedSet<OpenExchange>;
}

/** A clock that can be asked again for its last reading, at no cost. */
export interface RememberingClock extends Clock {
  readonly last: number;
}

export interface OpenExchange extends Linked<OpenExchange> {
  readonly method: string;
  /** Settles the exchange, then aborts what is under way. No effect once settled. */
  fail(error: McpError, reason?: unknown): void;
}

/** What is out of the ordinary about a request. */
export interface Route {
  /** Where it goes when not straight to the server. */
  readonly service?: Service | undefined;
  /** Hears what no callback does. */
  readonly hear?: Hear | undefined;
  /** What the call states about tasks, when not what every call does. */
  readonly tasks?: TaskTerms | undefined;
  /** True for what serves the following of a task: it is never one too many. */
  readonly aside?: boolean;
  /** True when a task is to go on when nobody waits for it any more. */
  readonly keeps?: boolean;
}

/** One request of a client, however many calls it takes. */
export interface Request<M extends Method> {
  readonly method: M;
  readonly params: Params<M>;
  readonly service: Service;
  readonly limits: DeadlineLimits;
  readonly meta: JsonObject | undefined;
  readonly wantsProgress: boolean;
  readonly logLevel: LogLevel | undefined;
  readonly signal: AbortSignal | undefined;
  /** Hears what the server says before the call ends. Must not throw. */
  readonly hear: Hear | undefined;
  /** Hears how a task stands. Must not throw. */
  readonly onTask: ((task: Task) => void) | undefined;
  readonly route: Route;
}

export type Hear = (method: string, params: JsonObject) => void;

/**
 * Calls a service until there is a result, answering what the server asks.
 *
 * The promise settles exactly once: whichever of outcome, abort, time limit and
 * end of the connection comes first. It does not wait for a service that
 * ignores an abort, and what such a service says later is not heard.
 */
export function exchange<M extends Method>(line: Line, request: Request<M>): Promise<Result<M>> {
  return new Promise((resolve, reject) => new Exchange(line, request, { resolve, reject }).call());
}

interface Settle<M extends Method> {
  resolve(result: Result<M>): void;
  reject(error: McpError): void;
}

class Exchange<M extends Method> implements OpenExchange {
  readonly method: M;
  previous: OpenExchange | undefined;
  next: OpenExchange | undefined;
  readonly #line: Line;
  readonly #request: Request<M>;
  readonly #settle: Settle<M>;
  readonly #notify: Notify;
  readonly #startedAt: number;
  readonly #unlisten: (() => void) | undefined;
  #deadline: Deadline;
  /** Ends what is under way now: a call, or the answering of questions. */
  #abort = new LazyAbort();
  #rounds = 0;
  /** How many questions had been answered when the idle time last began. */
  #served: number;
  /** True while a task is followed and nothing is asked of the server. */
  #resting = false;
  #among: LinkedSet<OpenExchange>;
  #settled = false;

  constructor(line: Line, request: Request<M>, settle: Settle<M>) {
    this.method = request.method;
    this.#line = line;
    this.#request = request;
    this.#settle = settle;
    this.#notify = request.hear === undefined ? ignore : (method, params) => this.#hear(method, params);
    this.#served = line.desk.activity.served;
    this.#deadline = line.deadlines.start(request.limits, () => this.#expire());
    // Starting the deadline has just read the clock.
    this.#startedAt = line.clock.last;
    this.#unlisten = request.signal && this.#follow(request.signal);
    this.#among = request.route.aside === true ? line.aside : line.open;
    this.#among.add(this);
  }

  call(round: Round = firstRound): void {
    try {
      this.#request.service(this.#toCall(round)).then(
        (outcome) => this.#take(outcome),
        (error: unknown) => this.#reject(broken(this.method, error)),
      );
    } catch (error) {
      this.#reject(broken(this.method, error));
    }
  }

  fail(error: McpError, reason: unknown = error): void {
    if (this.#reject(error)) this.#abort.abort(reason);
  }

  #toCall({ answers, state }: Round): Call<M> {
    const { method, params, meta, wantsProgress, logLevel, route } = this.#request;
    const { connection, desk } = this.#line;
    const tasks = route.tasks ?? this.#line.tasks;
    const abort = this.#abort;
    const ask: Ask | undefined = desk.isOpen ? (question) => desk.answer(question, abort.signal) : undefined;
    const { peer } = connection;
    const notify = this.#notify;
    const what = { method, params, peer, abort, notify, meta, wantsProgress, logLevel, answers, state, ask, tasks };
    return createCall(what);
  }

  #follow(signal: AbortSignal): () => void {
    return onSignal(signal, () => this.fail(cancelled(this.method, signal), signal.reason));
  }

  #take(outcome: Outcome<M>): void {
    switch (outcome.kind) {
      case "complete":
        if (this.#close()) this.#settle.resolve(outcome.result);
        return;
      case "failed":
        this.#reject(toError(outcome.failure));
        return;
      case "input-required":
        void this.#answer(outcome);
        return;
      case "task":
        this.#followTask(outcome.task);
    }
  }

  /** What follows a task whose caller has gone does so only to end it. */
  #followTask(task: Task): void {
    const { follow, aside } = this.#line;
    if (follow === undefined || this.method !== "tools/call") {
      this.#reject(new McpError("invalid-response", `${this.method} ended as a task, which was not asked for`));
      return;
    }
    const abort = new LazyAbort();
    if (this.#settled) {
      abort.abort(this.#abort.reason);
    } else {
      this.#among.delete(this);
      this.#among = aside;
      aside.add(this);
    }
    this.#abort = abort;
    const { onTask, route } = this.#request;
    follow(task, {
      abort,
      keeps: route.keeps === true,
      tell: (state) => void (this.#settled || onTask?.(state)),
      asks: () => this.#rest(false),
      hears: () => this.#rest(true),
    }).then(
      // Only tools give tasks, and what these end with is what those give.
      (result) => this.#close() && this.#settle.resolve(result as Result<M>),
      (error: unknown) => this.fail(broken(this.method, error)),
    );
  }

  #rest(resting: boolean): void {
    this.#resting = resting;
    this.#deadline.touch();
  }

  async #answer(asked: InputRequired): Promise<void> {
    if (this.#settled) return;
    const { method } = this;
    const { desk, clock, maxRounds } = this.#line;
    const abort = new LazyAbort();
    this.#abort = abort;
    this.#deadline.touch();
    try {
      const next = await nextRound(asked, { method, desk, clock, abort, round: ++this.#rounds, maxRounds });
      if (this.#settled) return;
      this.#abort = new LazyAbort();
      this.#deadline.touch();
      this.#served = desk.activity.served;
      this.call(next);
    } catch (error) {
      this.fail(broken(method, error));
    }
  }

  #hear(method: string, params: JsonObject): undefined {
    if (this.#settled) return;
    this.#deadline.touch();
    this.#request.hear?.(method, params);
  }

  /**
   * Silence of the server is no timeout while the user is being asked, and for
   * one idle time after the answer, nor before a task has to be asked about.
   */
  #expire(): void {
    const { method, limits } = this.#request;
    const { clock, deadlines, desk } = this.#line;
    const left = limits.totalMs > 0 ? this.#startedAt + limits.totalMs - clock.now() : Number.POSITIVE_INFINITY;
    const { pending, served } = desk.activity;
    if (left <= 0) {
      this.fail(new McpError("timeout", `${method} took longer than ${limits.totalMs} ms`));
    } else if (pending === 0 && served === this.#served && !this.#resting) {
      this.fail(new McpError("timeout", `${method} timed out: no sign of life for ${limits.idleMs} ms`));
    } else {
      this.#served = served;
      const rest = { idleMs: limits.idleMs, totalMs: limits.totalMs > 0 ? left : 0 };
      this.#deadline = deadlines.start(rest, () => this.#expire());
    }
  }

  #reject(error: McpError): boolean {
    if (!this.#close()) return false;
    this.#settle.reject(error);
    return true;
  }

  /** True for the first who asks: only that one may settle. */
  #close(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#among.delete(this);
    this.#deadline.stop();
    this.#unlisten?.();
    return true;
  }
}

const firstRound: Round = { answers: undefined, state: undefined };

function ignore(): undefined {}

/** The error of a call whose caller does not want it any more. */
export function cancelled(method: string, signal: AbortSignal): McpError {
  return new McpError("cancelled", `${method} was cancelled`, { cause: signal.reason });
}

/** A service answers with outcomes; one that throws anything but an `McpError` is broken itself. */
function broken(method: string, error: unknown): McpError {
  return error instanceof McpError ? error : new McpError("internal", `${method} failed`, { cause: error });
}
