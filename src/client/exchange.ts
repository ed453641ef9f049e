import type { JsonObject } from "../json/json.ts";
import type { Connection } from "../model/connection.ts";
import { McpError, toError } from "../model/errors.ts";
import type { LogLevel } from "../model/logging.ts";
import type { Method, Params, Result } from "../model/methods.ts";
import { type Ask, type Call, createCall, type Notify, type Outcome, type Service } from "../model/service.ts";
import type { Clock } from "../std/clock.ts";
import type { Deadline, DeadlineLimits, Deadlines } from "../std/deadlines.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import type { Linked, LinkedSet } from "../std/linked-set.ts";
import type { AnswerDesk } from "./answers.ts";
import { type InputRequired, nextRound, type Round } from "./input.ts";
import { onSignal } from "./shared-signal.ts";

/** What the exchanges of one client share. */
export interface Line {
  readonly connection: Connection;
  readonly desk: AnswerDesk;
  readonly clock: RememberingClock;
  readonly deadlines: Deadlines;
  readonly maxRounds: number;
  /** The exchanges that are not settled. */
  readonly open: LinkedSet<OpenExchange>;
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
    line.open.add(this);
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
    const { method, params, meta, wantsProgress, logLevel } = this.#request;
    const { connection, desk } = this.#line;
    const abort = this.#abort;
    const ask: Ask | undefined = desk.isOpen ? (question) => desk.answer(question, abort.signal) : undefined;
    const { peer } = connection;
    const notify = this.#notify;
    return createCall({ method, params, peer, abort, notify, meta, wantsProgress, logLevel, answers, state, ask });
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
      default:
        this.#reject(
          new McpError("invalid-response", `${this.method} ended as ${outcome.kind}, which was not asked for`),
        );
    }
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

  /** While the user is being asked, and for one idle time after the answer, silence of the server is no timeout. */
  #expire(): void {
    const { method, limits } = this.#request;
    const { clock, deadlines, desk } = this.#line;
    const left = limits.totalMs > 0 ? this.#startedAt + limits.totalMs - clock.now() : Number.POSITIVE_INFINITY;
    const { pending, served } = desk.activity;
    if (left <= 0) {
      this.fail(new McpError("timeout", `${method} took longer than ${limits.totalMs} ms`));
    } else if (pending === 0 && served === this.#served) {
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
    this.#line.open.delete(this);
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
