import { canonicalText } from "../../json/canonical.ts";
import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { CreateMessageParams, ElicitParams, Question } from "../../protocol/input.ts";
import { type ClientCapabilities, canShowForms } from "../../protocol/peer.ts";
import { toBase64Url } from "../../std/base64.ts";

/** An answer as it was sent, and the digest of the question it was given to. */
export interface GivenAnswer {
  readonly answer: Json;
  readonly asked: string;
}

/** The answers and results of steps that a handler which is run again need not repeat, by key. */
export interface ReplayState {
  readonly answers: Readonly<Record<string, GivenAnswer>>;
  /** Results of finished steps. A step without a result has an empty list. */
  readonly results: Readonly<Record<string, readonly Json[]>>;
}

/** Records what a run has done, so that it survives the process. */
export interface Journal {
  /** Resolves when work may begin. Rejects when another process continues the run: this one must stop. */
  ready?(): Promise<void> | undefined;
  /**
   * Resolves when the result of a step is recorded. Rejects when another process continues the run: this one must stop.
   */
  step(key: string, result: readonly Json[]): Promise<void>;
}

/** The recorded context of a run, and where its work is recorded. */
export interface ReplayContext extends ReplayState {
  readonly journal?: Journal;
}

/** A validated answer for a question that waits. */
export interface Arrival {
  readonly key: string;
  readonly given: GivenAnswer;
  readonly value: unknown;
}

interface Waiting {
  readonly prepared: PreparedQuestion;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The inputState of a run, which is made when it is first needed. */
export function inputStateOf(run: {
  inputState: InputState | undefined;
  readonly past: ReplayContext | undefined;
}): InputState {
  run.inputState ??= new InputState(run.past, run.past?.journal);
  return run.inputState;
}

/** The questions, answers and steps of one run of a handler. */
export class InputState {
  readonly #answers: Map<string, GivenAnswer>;
  readonly #results: Map<string, readonly Json[]>;
  readonly #steps = new Map<string, Promise<Json | undefined>>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #keys = new Set<string>();
  /** Work that ends without the client. */
  readonly #busy = new Set<Promise<unknown>>();
  #journal: Journal | undefined;
  #numbered = 0;

  constructor({ answers, results }: ReplayState = { answers: {}, results: {} }, journal?: Journal) {
    this.#journal = journal;
    this.#answers = new Map(Object.entries(answers));
    this.#results = new Map(Object.entries(results));
  }

  /** From now on, work is recorded here. */
  keepIn(journal: Journal): void {
    this.#journal = journal;
  }

  /** Takes the key of a question, or the next number. Throws when it is taken. */
  claim(key = `ask-${++this.#numbered}`): string {
    if (this.#keys.has(key)) throw new McpError("invalid-definition", `the question key ${key} is used twice`);
    this.#keys.add(key);
    return key;
  }

  /** The answer that is known, if it was given to this very question; else one that came unasked, which is known then. */
  recall(question: Question, key: string, unasked: Json | undefined): Promise<GivenAnswer | undefined> {
    const given = this.#answers.get(key);
    if (given === undefined && unasked === undefined) return Promise.resolve(undefined);
    return this.#track(
      digestOfQuestion(question).then((asked) => {
        if (given !== undefined) return given.asked === asked ? given : undefined;
        const taken: GivenAnswer = { answer: unasked ?? null, asked };
        this.#answers.set(key, taken);
        return taken;
      }),
    );
  }

  /** Waits until an answer is delivered. */
  wait<T>(prepared: PreparedQuestion<T>, key: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(key, { prepared, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** What is waited for, by key, in the order it was asked. */
  questions(): Readonly<Record<string, Question>> {
    const asked = [...this.#keys].flatMap((key) => {
      const waiting = this.#waiting.get(key);
      return waiting === undefined ? [] : [[key, waiting.prepared.question] as const];
    });
    return Object.fromEntries(asked);
  }

  replayState(): ReplayState {
    return { answers: Object.fromEntries(this.#answers), results: Object.fromEntries(this.#results) };
  }

  /** Checks answers to what is waited for; others are left out. Throws when one is malformed, and then nothing changed. */
  async read(answers: ReadonlyMap<string, GivenAnswer>): Promise<readonly Arrival[]> {
    const arrivals: Arrival[] = [];
    for (const [key, { prepared }] of this.#waiting) {
      const given = answers.get(key);
      if (given !== undefined) arrivals.push({ key, given, value: await prepared.read(given.answer) });
    }
    return arrivals;
  }

  deliver(arrivals: readonly Arrival[]): void {
    for (const { key, given, value } of arrivals) {
      const waiting = this.#waiting.get(key);
      this.#waiting.delete(key);
      this.#answers.set(key, given);
      waiting?.resolve(value);
    }
  }

  /** Rejects everything that is waited for. */
  giveUp(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  /** Runs `work` once for its key, and returns its result as JSON. Work that fails counts as not run. */
  step(key: string, work: () => unknown): Promise<Json | undefined> {
    const known = this.#steps.get(key);
    if (known !== undefined) return known;
    const step = this.#results.has(key) ? Promise.resolve(this.#resultOf(key)) : this.#track(this.#perform(key, work));
    this.#steps.set(key, step);
    return step;
  }

  /** True while a step is running. */
  get isBusy(): boolean {
    return this.#busy.size > 0;
  }

  /** Resolves when a turn has passed in which no step was running. */
  async idle(): Promise<void> {
    for (await nextTurn(); this.#busy.size > 0; await nextTurn()) await Promise.allSettled(this.#busy);
  }

  /** A copy: changes by the handler must not affect later runs. */
  #resultOf(key: string): Json | undefined {
    return structuredClone(this.#results.get(key)?.[0]);
  }

  async #perform(key: string, work: () => unknown): Promise<Json | undefined> {
    try {
      const ready = this.#journal?.ready?.();
      if (ready !== undefined) await ready;
      const text: string | undefined = JSON.stringify(await work());
      const result = text === undefined ? [] : [JSON.parse(text)];
      await this.#journal?.step(key, result);
      this.#results.set(key, result);
      return this.#resultOf(key);
    } catch (error) {
      this.#steps.delete(key);
      throw error;
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const forget = (): void => void this.#busy.delete(work);
    this.#busy.add(work);
    work.then(forget, forget);
    return work;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/**
 * The digest of a question. The id of a page is left out, because a handler that is run again may create another one.
 */
export function digestOfQuestion({ method, params }: Question): Promise<string> {
  const { elicitationId: _, ...rest } = asJson(params);
  return digestOf({ method, params: rest });
}

/** A short text that is the same for equal values, and for no others. */
export async function digestOf(value: Json): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalText(value));
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** A question with what makes its answer acceptable. */
export interface PreparedQuestion<T = unknown> {
  readonly question: Question;
  /** Called before the client is asked. Rejects when the question is not suitable for the client. */
  readonly prepare?: (() => Promise<void>) | undefined;
  /** Reads the answer; throws `invalid-params` when it is malformed. */
  read(answer: unknown): T | Promise<T>;
}

/** Throws `missing-capability` when the client did not say that it can answer. */
export function requireCapability(question: Question, capabilities: ClientCapabilities): void {
  const missing = missingCapability(question, capabilities);
  if (missing === undefined) return;
  const message = `the client cannot answer ${question.method}: it did not declare ${describe(missing)}`;
  throw new McpError("missing-capability", message, { data: { requiredCapabilities: missing } });
}

function missingCapability({ method, params }: Question, has: ClientCapabilities): JsonObject | undefined {
  switch (method) {
    case "roots/list":
      return has.roots ? undefined : { roots: {} };
    case "sampling/createMessage":
      return missingSampling(params, has);
    case "elicitation/create":
      return missingElicitation(params, has);
  }
}

function missingSampling({ tools, toolChoice }: CreateMessageParams, { sampling }: ClientCapabilities) {
  if (sampling === undefined) return { sampling: {} };
  const needsTools = tools !== undefined || toolChoice !== undefined;
  return needsTools && sampling.tools === undefined ? { sampling: { tools: {} } } : undefined;
}

function missingElicitation({ mode }: ElicitParams, has: ClientCapabilities) {
  if (mode === "url") return has.elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined;
  if (canShowForms(has)) return undefined;
  return { elicitation: has.elicitation === undefined ? {} : { form: {} } };
}

/** `elicitation.url`, from the shape of the capability. */
function describe(capability: JsonObject): string {
  const [name, inner] = Object.entries(capability)[0] ?? [];
  const [flag] = isObject(inner) ? Object.keys(inner) : [];
  return flag === undefined ? `${name}` : `${name}.${flag}`;
}
