import type { JsonObject } from "../json/json.ts";
import type { Connection } from "../protocol/connection.ts";
import { McpError } from "../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../protocol/input.ts";
import type { Method, Result } from "../protocol/methods.ts";
import { type CallOf, createCall, type Notify, type Outcome, type OutcomeOf } from "../protocol/service.ts";
import type { Task, TaskTerms } from "../protocol/task.ts";
import type { Clock } from "../std/clock.ts";
import type { Deadline, Deadlines } from "../std/deadlines.ts";
import type { ProcessHold } from "../std/hold.ts";
import { LazyAbort } from "../std/lazy-abort.ts";
import { type Linked, LinkedSet } from "../std/linked-set.ts";
import { callText, cancelled, failed, idleTimeout, notSent, toCallError, totalTimeout } from "./call-errors.ts";
import { isCounted, type OutgoingRequest, onSignal, type Route } from "./call-options.ts";
import type { ClientRequestHandlers } from "./request-handlers.ts";
import type { Follow } from "./task-notifications.ts";

/** What the exchanges of one client share. */
export interface ClientState {
  readonly connection: Connection;
  readonly handlers: ClientRequestHandlers;
  readonly clock: CachingClock;
  readonly deadlines: Deadlines;
  /** Keeps the process alive while results are awaited. */
  readonly hold: ProcessHold;
  readonly maxRounds: number;
  /** What every call states about tasks. */
  readonly tasks: TaskTerms | undefined;
  /** Waits for the end of a task. Absent where none may come. */
  readonly follow: Follow | undefined;
  readonly queue: CallQueue;
}

/** A clock that remembers its last reading, so that it can be read again at no cost. */
export interface CachingClock extends Clock {
  readonly last: number;
}

/**
 * Calls a service until there is a result, and answers the questions of the server.
 *
 * The promise settles exactly once: with whichever of outcome, abort, time limit and end of the connection comes first.
 * It does not wait for a service that ignores an abort, and ignores what such a service sends later.
 */
export function startOutgoingCall<M extends Method>(
  client: ClientState,
  request: OutgoingRequest<M>,
): Promise<Result<M>> {
  return new Promise((resolve, reject) => new OutgoingCall(client, request, { resolve, reject }).begin());
}

interface Settle<M extends Method> {
  resolve(result: Result<M>): void;
  reject(error: McpError): void;
}

class OutgoingCall<M extends Method> implements OpenCall {
  readonly method: M;
  previous: OpenCall | undefined;
  next: OpenCall | undefined;
  readonly #client: ClientState;
  readonly #request: OutgoingRequest<M>;
  readonly #settle: Settle<M>;
  readonly #notify: Notify;
  readonly #startedAt: number;
  readonly #unlisten: (() => void) | undefined;
  #deadline: Deadline;
  /** Aborts the current step: a call, or the answers to questions. */
  #abort = new LazyAbort();
  #rounds = 0;
  /** Number of answered questions when the idle time last started. */
  #answeredBefore: number;
  /** True while a task is followed and nothing is asked of the server. */
  #isIdle = false;
  #set: LinkedSet<OpenCall>;
  #settled = false;
  /** Sends what has waited as if its caller did so now, where that makes a difference. */
  #inContext: (() => void) | undefined;

  constructor(client: ClientState, request: OutgoingRequest<M>, settle: Settle<M>) {
    this.method = request.method;
    this.#client = client;
    this.#request = request;
    this.#settle = settle;
    this.#notify =
      request.onNotification === undefined ? ignore : (method, params) => this.#onNotification(method, params);
    this.#answeredBefore = client.handlers.activity.served;
    this.#deadline = client.deadlines.start(request.limits, () => this.#expire());
    // Starting the deadline has just read the clock.
    this.#startedAt = client.clock.last;
    this.#unlisten = request.signal && this.#cancelWith(request.signal);
    this.#set = setFor(request.route, client.queue);
    this.#set.add(this);
    if (request.route.isSubscription !== true) client.hold.take();
  }

  get what(): string {
    return callText(this.method, this.#request.params, this.#client.connection.server);
  }

  begin(): void {
    if (!this.#isWaiting) this.#call(firstRound);
    // Another call makes room for it.
    else this.#inContext = this.#client.connection.bind?.(() => this.#call(firstRound));
  }

  start(): void {
    this.#moveTo(this.#client.queue.open);
    this.#deadline.touch();
    if (this.#inContext === undefined) this.#call(firstRound);
    else this.#inContext();
  }

  #call(round: Round): void {
    try {
      this.#request.service(this.#toCall(round)).then(
        (outcome) => this.#take(outcome),
        (error: unknown) => this.#reject(toCallError(this.what, error)),
      );
    } catch (error) {
      this.#reject(toCallError(this.what, error));
    }
  }

  fail(error: McpError, reason: unknown = error): void {
    if (this.#reject(error)) this.#abort.abort(reason);
  }

  #toCall({ answers, state }: Round): CallOf<M> {
    const request = this.#request;
    const { connection, handlers } = this.#client;
    const abort = this.#abort;
    // Written out: spreading costs a call a tenth of its time.
    return createCall({
      method: request.method,
      params: request.params,
      peer: connection.peer,
      abort,
      notify: this.#notify,
      meta: request.meta,
      headers: request.headers,
      wantsProgress: request.wantsProgress,
      logLevel: request.logLevel,
      answers,
      state,
      ask: handlers.isOpen ? (question) => handlers.answer(question, abort.signal) : undefined,
      tasks: request.route.tasks ?? this.#client.tasks,
      maxBytes: request.route.maxBytes,
    });
  }

  #cancelWith(signal: AbortSignal): () => void {
    return onSignal(signal, () => this.fail(cancelled(this.what, signal), signal.reason));
  }

  #take(outcome: OutcomeOf<M>): void {
    switch (outcome.kind) {
      case "complete":
        if (this.#close()) this.#settle.resolve(outcome.result);
        return;
      case "failed":
        this.#reject(failed(this.what, outcome.failure));
        return;
      case "input-required":
        void this.#answer(outcome);
        return;
      case "task":
        this.#followTask(outcome.task);
    }
  }

  /** A task whose caller has gone is followed only to cancel it. */
  #followTask(task: Task): void {
    const { follow, queue } = this.#client;
    if (follow === undefined || this.method !== "tools/call") {
      this.#reject(new McpError("invalid-response", `${this.what} ended as a task, which was not asked for`));
      return;
    }
    const abort = new LazyAbort();
    if (this.#settled) {
      abort.abort(this.#abort.reason);
    } else {
      this.#moveTo(queue.unqueued);
    }
    this.#abort = abort;
    const { onTask, route, headers } = this.#request;
    follow(task, {
      abort,
      keeps: route.keepsTask === true,
      headers,
      onTask: (state) => void (this.#settled || onTask?.(state)),
      onRequestSent: () => this.#setIdle(false),
      onResponse: () => this.#setIdle(true),
    }).then(
      // Only tools return tasks, so the result of the task is a tool result.
      (result) => this.#close() && this.#settle.resolve(result as Result<M>),
      (error: unknown) => this.fail(toCallError(this.what, error)),
    );
  }

  get #isWaiting(): boolean {
    return this.#set === this.#client.queue.waiting;
  }

  #moveTo(set: LinkedSet<OpenCall>): void {
    this.#leave();
    this.#set = set;
    set.add(this);
  }

  /** Removes the call from its set, and starts the next one in the queue. */
  #leave(): void {
    const { queue } = this.#client;
    this.#set.delete(this);
    if (queue.waiting.size > 0 && !this.#isWaiting) queue.startWaiting();
  }

  #setIdle(isIdle: boolean): void {
    this.#isIdle = isIdle;
    this.#deadline.touch();
  }

  async #answer(asked: InputRequired): Promise<void> {
    if (this.#settled) return;
    const { what } = this;
    const { handlers, clock, maxRounds } = this.#client;
    const abort = new LazyAbort();
    this.#abort = abort;
    this.#deadline.touch();
    try {
      const next = await nextRound(asked, { what, handlers, clock, abort, round: ++this.#rounds, maxRounds });
      if (this.#settled) return;
      this.#abort = new LazyAbort();
      this.#deadline.touch();
      this.#answeredBefore = handlers.activity.served;
      this.#call(next);
    } catch (error) {
      this.fail(toCallError(what, error));
    }
  }

  #onNotification(method: string, params: JsonObject): undefined {
    if (this.#settled) return;
    this.#deadline.touch();
    this.#request.onNotification?.(method, params);
  }

  /**
   * The idle timeout does not apply while the user is being asked, for one idle time after the answer, and before a
   * task is due for polling.
   */
  #expire(): void {
    const { limits } = this.#request;
    const { clock, deadlines, handlers } = this.#client;
    const left = limits.totalMs > 0 ? this.#startedAt + limits.totalMs - clock.now() : Number.POSITIVE_INFINITY;
    const { pending, served } = handlers.activity;
    if (left <= 0) {
      const { totalMs } = limits;
      this.fail(this.#isWaiting ? notSent(this.what, totalMs, "maxTotalMs") : totalTimeout(this.what, totalMs));
    } else if (pending === 0 && served === this.#answeredBefore && !this.#isIdle) {
      const { idleMs } = limits;
      this.fail(this.#isWaiting ? notSent(this.what, idleMs, "timeoutMs") : idleTimeout(this.what, idleMs));
    } else {
      this.#answeredBefore = served;
      const rest = { idleMs: limits.idleMs, totalMs: limits.totalMs > 0 ? left : 0 };
      this.#deadline = deadlines.start(rest, () => this.#expire());
    }
  }

  #reject(error: McpError): boolean {
    if (!this.#close()) return false;
    this.#settle.reject(error);
    return true;
  }

  /** True for the first caller only: that one settles the promise. */
  #close(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#deadline.stop();
    this.#unlisten?.();
    if (this.#request.route.isSubscription !== true) this.#client.hold.release();
    this.#leave();
    return true;
  }
}

const firstRound: Round = { answers: undefined, state: undefined };

function ignore(): undefined {}

function setFor(route: Route, queue: CallQueue): LinkedSet<OpenCall> {
  if (!isCounted(route)) return queue.unqueued;
  return queue.hasRoom() ? queue.open : queue.waiting;
}

export type InputRequired = Extract<Outcome, { kind: "input-required" }>;

/** What the next call of the same request carries, besides what the first did. */
interface Round {
  readonly answers: Readonly<Record<string, QuestionAnswer>> | undefined;
  /** The state exactly as the server sent it. Undefined if it sent none. */
  readonly state: string | undefined;
}

export interface RoundContext {
  /** What is called, for errors. */
  readonly what: string;
  readonly handlers: Pick<ClientRequestHandlers, "answer">;
  readonly clock: Clock;
  /** Aborts the answers early. */
  readonly abort: LazyAbort;
  /** How often the server has asked, this time included. */
  readonly round: number;
  readonly maxRounds: number;
}

/**
 * Handles an `input-required` outcome: answers all questions in parallel or, when there are none, waits before the next
 * call, because the server is busy.
 *
 * Throws `limit-reached` when the server asks too often, `missing-capability` when this client has no handler for a
 * question, and whatever a handler throws.
 */
export async function nextRound(asked: InputRequired, context: RoundContext): Promise<Round> {
  const { what, round, maxRounds } = context;
  if (round > maxRounds) throw askedTooOften(what, maxRounds);
  const questions = Object.entries(asked.questions);
  if (questions.length > 0) return { answers: await answerAll(questions, context), state: asked.state };
  if (asked.state === undefined) {
    throw new McpError("invalid-response", `${what} asks for input but neither says which nor gives a state`);
  }
  await pause(backOffMs(round), context);
  return { answers: undefined, state: asked.state };
}

export function askedTooOften(what: string, maxRounds: number): McpError {
  const message = `${what} asked for input more than ${maxRounds} times (maxRounds); raise maxRounds if it needs more`;
  return new McpError("limit-reached", message, { data: { limit: "maxRounds", max: maxRounds, scope: "call" } });
}

async function answerAll(
  questions: readonly (readonly [key: string, question: Question])[],
  context: RoundContext,
): Promise<Readonly<Record<string, QuestionAnswer>>> {
  const answers = questions.map(async ([key, question]) => [key, await answer(question, context)] as const);
  return Object.fromEntries(await Promise.all(answers));
}

/** Answers one question. Throws `missing-capability` when it is of a kind this client does not answer. */
export async function answer(
  question: Question,
  { what, handlers, abort }: Pick<RoundContext, "what" | "handlers" | "abort">,
): Promise<QuestionAnswer> {
  try {
    return await handlers.answer(question, abort.signal);
  } catch (error) {
    if (!(error instanceof McpError) || error.code !== "method-not-found") throw error;
    const message = `${what} asks for ${question.method}, which this client does not answer; give connect ${handlerFor(question)}`;
    throw new McpError("missing-capability", message, { cause: error });
  }
}

function handlerFor({ method, params }: Question): string {
  if (method === "roots/list") return "roots";
  if (method === "sampling/createMessage") return "onSample";
  return params.mode === "url" ? "onElicitUrl" : "onElicit";
}

/** Doubles from 50 ms to 2 s, with jitter, so that clients which were rejected together do not retry together. */
function backOffMs(round: number): number {
  return Math.min(50 * 2 ** (round - 1), 2_000) * (0.5 + Math.random() / 2);
}

/** Never resolves once aborted. */
function pause(ms: number, { clock, abort }: RoundContext): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      unlisten();
      resolve();
    });
    const unlisten = abort.onAbort(cancel);
  });
}

/** A call that is not settled. */
interface OpenCall extends Linked<OpenCall> {
  /** What is called, for errors. */
  readonly what: string;
  /** Sends what has waited. */
  start(): void;
  /** Settles the call, then aborts what is under way. No effect once settled. */
  fail(error: McpError, reason?: unknown): void;
}

/** The calls of one client that are not settled. */
interface CallQueue {
  /** Calls that were sent, without those that skip the queue. */
  readonly open: LinkedSet<OpenCall>;
  /** Those that wait until there is room among the sent ones. */
  readonly waiting: LinkedSet<OpenCall>;
  /** Calls that became tasks, requests about tasks, and subscriptions. They do not count towards the limit. */
  readonly unqueued: LinkedSet<OpenCall>;
  /** False when one more has to wait. */
  hasRoom(): boolean;
  /** There may be room now: starts those that wait, in the order they came. */
  startWaiting(): void;
  /** From now on those that wait are not started any more. */
  close(): void;
}

/** At most `maxOpenRequests` are open; 0 is no limit. */
export function createCallQueue(
  maxOpenRequests: number,
  { activity }: Pick<ClientRequestHandlers, "activity">,
): CallQueue {
  const open = new LinkedSet<OpenCall>();
  const waiting = new LinkedSet<OpenCall>();
  let isStarting = false;
  let isClosed = false;

  /** A call that waits for an answer of ours makes room for another: the answer may need one. */
  const isBelowLimit = (): boolean => maxOpenRequests === 0 || open.size - activity.pending < maxOpenRequests;

  return {
    open,
    waiting,
    unqueued: new LinkedSet(),
    hasRoom: () => waiting.size === 0 && isBelowLimit(),
    startWaiting() {
      if (isStarting || isClosed) return;
      isStarting = true;
      for (let next = waiting.first; next !== undefined && isBelowLimit(); next = waiting.first) next.start();
      isStarting = false;
    },
    close() {
      isClosed = true;
    },
  };
}
