import { isObject, type Json } from "../../json/json.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import type { RpcPeer } from "../../jsonrpc/peer.ts";
import type { WireCall } from "../../protocol/codec/codec.ts";
import { type Failure, McpError, toError, toFailure } from "../../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../../protocol/input.ts";
import { metaKeys, withMeta } from "../../protocol/meta.ts";
import type { Params } from "../../protocol/methods.ts";
import { type Ask, type Call, type Outcome, onAbort, type Service, withCall } from "../../protocol/service.ts";
import type { Clock } from "../../std/clock.ts";
import { LazyAbort } from "../../std/lazy-abort.ts";
import { answerCall, type CallResponder } from "../../transport/answer-call.ts";
import type { CallGate } from "../../transport/caller.ts";
import { failureOf } from "../../transport/send-call.ts";
import type { LegacyServerCodec } from "../codec/codec.ts";
import type { BegunTask } from "./follow-task.ts";

/** What all calls of a session have in common. */
export interface LiveCallHandler {
  readonly service: Service;
  /** Reaches the client. */
  readonly peer: Pick<RpcPeer, "request">;
  readonly gate: Pick<CallGate, "leave">;
  readonly clock: Clock;
  readonly askTimeoutMs: number;
  /** Called with the id of a page that the client was asked to open. */
  onPage(elicitationId: string): void;
  /** Called with the task that a call was answered with. */
  onTask(task: BegunTask, incoming: IncomingRequest): void;
  /** Called when a call is over. */
  onOver(): void;
}

/** One call of a client that can be asked while it waits. Most calls ask nothing, and cost no more than that. */
export class LiveAnswering implements CallResponder {
  readonly codec: LegacyServerCodec;
  readonly ask: Ask;
  readonly #handler: LiveCallHandler;
  readonly #incoming: IncomingRequest;
  readonly #wire: WireCall;
  #asker: Asker | undefined;
  #taskId: string | undefined;

  constructor(handler: LiveCallHandler, codec: LegacyServerCodec, incoming: IncomingRequest, wire: WireCall) {
    this.codec = codec;
    // A function that is written straight into a property, V8 takes for one that lives long, and all it knows with it.
    const ask: Ask = (question) => this.#ask(question);
    this.ask = ask;
    this.#handler = handler;
    this.#incoming = incoming;
    this.#wire = wire;
  }

  run(): Promise<void> {
    return answerCall(this.#incoming, this.#wire, this);
  }

  serve(call: Call): Promise<Outcome> {
    return this.#handler.service(call);
  }

  resolveInputRequired(call: Call, asked: Outcome): Promise<Outcome> {
    const { service, clock } = this.#handler;
    return resolveInputRequired(service, call, asked, { ask: this.ask, clock });
  }

  ending(outcome: Outcome): void {
    if (outcome.kind === "task") this.#taskId = outcome.task.taskId;
    else if (outcome.kind === "failed") for (const id of pagesIn(outcome.failure)) this.#handler.onPage(id);
  }

  over(): void {
    this.#asker?.close();
    if (this.#taskId !== undefined) {
      this.#handler.onTask({ taskId: this.#taskId, progressToken: this.#wire.progressToken }, this.#incoming);
    }
    this.#handler.onOver();
  }

  #ask(question: Question): Promise<QuestionAnswer> {
    const { peer, gate, askTimeoutMs, onPage } = this.#handler;
    const { codec } = this;
    const { row } = this.#wire;
    this.#asker ??= createAsker(
      {
        peer,
        codec,
        askTimeoutMs,
        onPage,
        taskId: awaitedTask(this.#wire),
        gate: row.runs === true ? gate : undefined,
      },
      this.#incoming,
    );
    return this.#asker.ask(question);
  }
}

/** The pages that have to be opened before a call can succeed. */
function pagesIn({ code, data }: Failure): readonly string[] {
  if (code !== "url-elicitation-required" || !isObject(data) || !Array.isArray(data.elicitations)) return [];
  const ids = data.elicitations.map((one: Json) => (isObject(one) ? one.elicitationId : undefined));
  return ids.filter((id) => typeof id === "string");
}

/** The task whose end a request waits for. */
function awaitedTask({ method, params }: WireCall): string | undefined {
  return method === "tasks/result" ? (params as Params<"tasks/result">).taskId : undefined;
}

/** Asks a client on behalf of one of its requests. */
interface Asker {
  /** Rejects when the request is cancelled or over, when the client is gone, refuses or takes too long. */
  readonly ask: Ask;
  /** The request is over: takes back the questions that are still open. */
  close(): void;
}

interface AskerOptions {
  readonly peer: Pick<RpcPeer, "request">;
  readonly codec: LegacyServerCodec;
  /** Where the request has a place that others can have while it waits. */
  readonly gate: Pick<CallGate, "leave"> | undefined;
  /** How long a client may take to answer a question. */
  readonly askTimeoutMs: number;
  /** Called with the id of a page that the client is asked to open. */
  onPage?(elicitationId: string): void;
  /** The task whose end the request waits for: what is asked meanwhile belongs to it. */
  readonly taskId?: string | undefined;
}

export function createAsker(options: AskerOptions, { abort, via }: IncomingRequest): Asker {
  const { peer, codec, gate, askTimeoutMs, taskId } = options;
  const over = new LazyAbort();
  const gateSlot = createGateSlot(gate);
  let linked = false;

  /** A request that is cancelled is over, too. */
  const link = (): void => {
    if (linked) return;
    linked = true;
    abort.onAbort(() => over.abort(abort.reason));
  };

  const put = async (question: Question): Promise<QuestionAnswer> => {
    const encoded = codec.encodeQuestion(question);
    if (!encoded.ok) throw toError(encoded.failure);
    const page = pageOf(question);
    if (page !== undefined) options.onPage?.(page);
    const params = taskId === undefined ? encoded.value : withMeta(encoded.value, metaKeys.relatedTask, { taskId });
    const reply = await peer.request(question.method, () => params, {
      via,
      limits: { idleMs: askTimeoutMs, totalMs: 0 },
      onAbort: (listener) => over.onAbort(listener),
    });
    if (reply.kind === "success") return reply.result;
    throw toError(failureOf(reply, codec, question.method));
  };

  return {
    async ask(question) {
      link();
      if (over.aborted) throw new McpError("cancelled", `${question.method} was not asked: the call is over`);
      gateSlot.release();
      try {
        return await put(question);
      } finally {
        gateSlot.reacquire();
      }
    },
    close: () => over.abort("the call is over"),
  };
}

/** The id by which the server will say that a page is done with, if it has one. */
function pageOf({ method, params }: Question): string | undefined {
  return method === "elicitation/create" && params.mode === "url" ? params.elicitationId : undefined;
}

interface GateSlot {
  release(): void;
  reacquire(): void;
}

/** One place at the gate, however many questions are asked at the same time. */
function createGateSlot(gate: Pick<CallGate, "leave"> | undefined): GateSlot {
  let questions = 0;
  let settle = (): void => {};

  return {
    release() {
      if (questions++ > 0) return;
      const answered = new Promise<void>((resolve) => {
        settle = resolve;
      });
      void gate?.leave(answered);
    },
    reacquire() {
      if (--questions === 0) settle();
    },
  };
}

const MAX_ROUNDS = 10;

interface LiveCallDependencies {
  readonly ask: Ask;
  readonly clock: Clock;
}

/**
 * Continues a call whose outcome asks for input, such as one of a remote modern server, for a client that can be asked
 * during the call: calls again with the answers until there are no questions. A service that asks for input without
 * questions is busy, and is called again after a pause.
 */
export async function resolveInputRequired(
  service: Service,
  call: Call,
  first: Outcome,
  { ask, clock }: LiveCallDependencies,
): Promise<Outcome> {
  let outcome = first;
  for (let round = 1; outcome.kind === "input-required"; round++) {
    if (round > MAX_ROUNDS) {
      return { kind: "failed", failure: { code: "internal", message: `still asking after ${MAX_ROUNDS} rounds` } };
    }
    try {
      const questions = Object.entries(outcome.questions);
      if (questions.length === 0) await pause(50 * 2 ** (round - 1), call, clock);
      const answers = questions.length === 0 ? undefined : await answerAll(questions, ask);
      outcome = await service(withCall(call, { answers, state: outcome.state }));
    } catch (error) {
      if (error instanceof McpError) return { kind: "failed", failure: toFailure(error) };
      throw error;
    }
  }
  return outcome;
}

async function answerAll(
  questions: readonly (readonly [key: string, question: Question])[],
  ask: Ask,
): Promise<Readonly<Record<string, unknown>>> {
  const answers = questions.map(async ([key, question]) => [key, await ask(question)] as const);
  return Object.fromEntries(await Promise.all(answers));
}

/** Ends early with the call. */
function pause(ms: number, call: Call, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.after(ms, resolve);
    onAbort(call, () => {
      stop();
      resolve();
    });
  });
}
