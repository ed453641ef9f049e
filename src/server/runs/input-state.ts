import { canonicalText } from "../../json/canonical.ts";
import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { CreateMessageParams, ElicitParams, Question } from "../../protocol/input.ts";
import { type ClientCapabilities, canShowForms } from "../../protocol/peer.ts";
import { toBase64Url } from "../../std/base64.ts";

/** An answer as it was sent, and the digest of the question it was given to. */
export interface Told {
  readonly answer: Json;
  readonly asked: string;
}

/** What a handler that is run again need not ask and do again, by key. */
export interface ReplayState {
  readonly answers: Readonly<Record<string, Told>>;
  /** Results of finished steps. A step without a result has an empty list. */
  readonly results: Readonly<Record<string, readonly Json[]>>;
}

/** Keeps what a run has done where it outlives the process. */
export interface Journal {
  /** Resolves when work may begin. Rejects when another process has taken over: this one must not go on. */
  ready?(): Promise<void> | undefined;
  /** Resolves when the result of a step is kept. Rejects when another process has taken over: this one must not go on. */
  step(key: string, result: readonly Json[]): Promise<void>;
}

/** What a run goes on from, and where what it does is kept. */
export interface Past extends ReplayState {
  readonly journal?: Journal;
}

/** An answer that was found good, on its way to who waits for it. */
export interface Arrival {
  readonly key: string;
  readonly told: Told;
  readonly value: unknown;
}

interface Waiting {
  readonly inquiry: Inquiry;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The inputState of a run, which is made when it is first needed. */
export function inputStateOf(run: { inputState: InputState | undefined; readonly past: Past | undefined }): InputState {
  run.inputState ??= new InputState(run.past, run.past?.journal);
  return run.inputState;
}

/** What one run of a handler asked, was told and has done. */
export class InputState {
  readonly #answers: Map<string, Told>;
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

  /** From now on, what is done is kept here. */
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
  recall(question: Question, key: string, unasked: Json | undefined): Promise<Told | undefined> {
    const told = this.#answers.get(key);
    if (told === undefined && unasked === undefined) return Promise.resolve(undefined);
    return this.#track(
      digestOfQuestion(question).then((asked) => {
        if (told !== undefined) return told.asked === asked ? told : undefined;
        const taken: Told = { answer: unasked ?? null, asked };
        this.#answers.set(key, taken);
        return taken;
      }),
    );
  }

  /** Waits until an answer is delivered. */
  wait<T>(inquiry: Inquiry<T>, key: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(key, { inquiry, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** What is waited for, by key, in the order it was asked. */
  questions(): Readonly<Record<string, Question>> {
    const asked = [...this.#keys].flatMap((key) => {
      const waiting = this.#waiting.get(key);
      return waiting === undefined ? [] : [[key, waiting.inquiry.question] as const];
    });
    return Object.fromEntries(asked);
  }

  recollection(): ReplayState {
    return { answers: Object.fromEntries(this.#answers), results: Object.fromEntries(this.#results) };
  }

  /** Checks answers to what is waited for; others are left out. Throws when one is malformed, and then nothing changed. */
  async read(answers: ReadonlyMap<string, Told>): Promise<readonly Arrival[]> {
    const arrivals: Arrival[] = [];
    for (const [key, { inquiry }] of this.#waiting) {
      const told = answers.get(key);
      if (told !== undefined) arrivals.push({ key, told, value: await inquiry.read(told.answer) });
    }
    return arrivals;
  }

  deliver(arrivals: readonly Arrival[]): void {
    for (const { key, told, value } of arrivals) {
      const waiting = this.#waiting.get(key);
      this.#waiting.delete(key);
      this.#answers.set(key, told);
      waiting?.resolve(value);
    }
  }

  /** Rejects everything that is waited for. */
  giveUp(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  /** Runs `work` once for its key, and gives its result as JSON. One that fails counts as not run. */
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

  /** A copy: what the handler does to its own must not change what later runs get. */
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

/** The digest of a question. A page that has another id is the same page: a handler that is run again may make one anew. */
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
export interface Inquiry<T = unknown> {
  readonly question: Question;
  /** Called before anybody is asked. Rejects when the question is not fit for it. */
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
