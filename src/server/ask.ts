import { isObject, type Json } from "../json/json.ts";
import { isRole } from "../protocol/content.ts";
import { McpError } from "../protocol/errors.ts";
import {
  type CreateMessageParams,
  type CreateMessageResult,
  type ElicitParams,
  type ElicitResult,
  type ElicitUrlParams,
  type ListRootsResult,
  type Question,
  type QuestionAnswer,
  type Root,
  roleProblem,
} from "../protocol/input.ts";
import { isLegacy } from "../protocol/revision.ts";
import type { Call } from "../protocol/service.ts";
import { checkFormSchema } from "../schema/form.ts";
import type { AnySchema, InferOut } from "../schema/infer.ts";
import { toValidator } from "../schema/to-validator.ts";
import type { Validator } from "../schema/validator.ts";
import { issueText } from "./definition.ts";
import type { Execution } from "./runs/execution.ts";
import { inputStateOf, type PreparedQuestion, requireCapability } from "./runs/input-state.ts";

export interface AskOptions {
  /** Names the question on the wire and across replays. Unique within one call; numbered when absent. */
  readonly key?: string | undefined;
}

export interface AskUrlOptions extends AskOptions {
  /**
   * An id of your own for the page, which must be unguessable: `completeElicitation` uses it to notify the client that
   * the user is done there. Only clients of 2025-11-25 are notified.
   */
  readonly elicitationId?: string | undefined;
}

/** A form without fields: the user can only agree. */
export interface EmptyForm {
  readonly type: "object";
  readonly properties: Readonly<Record<never, never>>;
}

const emptyForm: EmptyForm = { type: "object", properties: {} };

export interface Form<S extends AnySchema> {
  readonly message: string;
  readonly schema: S | undefined;
}

/** What came back for a form or a page. */
export interface Answered {
  readonly action: ElicitResult["action"];
  readonly content?: unknown;
}

/** Asks for a form and returns its validated content. Throws `declined` when the user declines. */
export async function ask<S extends AnySchema>(
  run: Execution,
  form: Form<S>,
  options?: AskOptions,
): Promise<InferOut<S>> {
  return accepted(await askForm(run, form, options), form.message) as InferOut<S>;
}

export async function askUrl(
  run: Execution,
  page: Pick<ElicitUrlParams, "message" | "url">,
  { elicitationId, ...options }: AskUrlOptions = {},
): Promise<void> {
  const params = { ...page, mode: "url", ...(elicitationId !== undefined && { elicitationId }) } as const;
  accepted(await elicit(run, params, options), page.message);
}

export async function elicit(run: Execution, params: ElicitParams, options: AskOptions = {}): Promise<ElicitResult> {
  const { message } = params;
  if (params.mode !== "url") {
    return (await askForm(run, { message, schema: params.requestedSchema }, options)) as ElicitResult;
  }
  const question = { method: "elicitation/create", params: pageFor(run, params) } as const;
  return askQuestion(run, { question, read: (answer) => readElicit(answer, options.key ?? message) }, options.key);
}

/** Clients of 2026-07-28 are not notified of completed pages, so they need no id. */
function pageFor({ call }: Execution, params: ElicitUrlParams): ElicitUrlParams {
  if (isLegacy(call.peer.revision)) return params;
  const { elicitationId: _, ...page } = params;
  return page;
}

export async function sample(
  run: Execution,
  params: CreateMessageParams,
  { key }: AskOptions = {},
): Promise<CreateMessageResult> {
  const problem = roleProblem(params.messages);
  if (problem !== undefined) throw new McpError("invalid-definition", problem);
  const question = { method: "sampling/createMessage", params } as const;
  return askQuestion(run, { question, read: (answer) => readSample(answer, key ?? "sample") }, key);
}

export async function roots(run: Execution, { key }: AskOptions = {}): Promise<readonly Root[]> {
  const question = { method: "roots/list", params: {} } as const;
  const read = (answer: unknown): ListRootsResult => readRoots(answer, key ?? "roots");
  return (await askQuestion(run, { question, read }, key)).roots;
}

/** Runs `work` once for its key. */
export function step(run: Execution, key: string, work: () => unknown): Promise<unknown> {
  return inputStateOf(run).step(key, work);
}

/** Forwards a question to the client, and returns the answer unchanged. */
export function pass(run: Execution, question: Question, key?: string): Promise<QuestionAnswer> {
  return askQuestion(run, { question, read: (answer) => readObject(answer, key ?? question.method) }, key);
}

function askForm(run: Execution, form: Form<AnySchema>, { key }: AskOptions = {}): Promise<Answered> {
  return askQuestion(run, prepareForm(form, key), key);
}

/** The question for a form. Throws `invalid-definition` when its schema is not one of a form. */
export function prepareForm(
  { message, schema = emptyForm }: Form<AnySchema>,
  key: string = message,
): PreparedQuestion<Answered> {
  const form = formOf(schema);
  const question = { method: "elicitation/create", params: { message, requestedSchema: form.json } } as const;
  const prepare = form.prove && (() => proveForm(form));
  return { question, prepare, read: (answer) => readForm(form, answer, key) };
}

const forms = new WeakMap<object, Validator>();

/** The validator of a form, with just the members of its schema that the protocol knows. */
function formOf(schema: AnySchema): Validator {
  const kept = forms.get(schema);
  if (kept !== undefined) return kept;
  const read = toValidator(schema, { direction: "input" });
  if (!read.ok) throw noForm(read.problem);
  const { type = null, properties = {}, required } = read.value.json;
  const json = { type, properties, ...(required !== undefined && { required }) };
  const problem = checkFormSchema(json);
  if (problem !== undefined) throw noForm(problem);
  const form = { ...read.value, json };
  forms.set(schema, form);
  return form;
}

async function proveForm({ prove }: Validator): Promise<void> {
  const problem = await prove?.();
  if (problem !== undefined) throw noForm(problem);
}

function noForm(problem: string): McpError {
  return new McpError("invalid-definition", `cannot ask with this schema: ${problem}`);
}

/** Reads the answer to a form. Content that does not match its schema is malformed. */
async function readForm(form: Validator, answer: unknown, key: string): Promise<Answered> {
  const { action, content = {} } = readElicit(answer, key);
  if (action !== "accept") return { action };
  const checked = await form.check(content);
  if (checked.ok) return { action, content: checked.value };
  throw malformed(key, issueText(checked.issues), { key, issues: checked.issues as unknown as Json });
}

/** The content of an answer. Throws `declined` when the user says no. */
export function accepted({ action, content }: Answered, message: string): unknown {
  if (action === "accept") return content;
  const verb = action === "decline" ? "declined" : "cancelled";
  throw new McpError("declined", `the user ${verb}: ${message}`, { data: { action } });
}

/** Puts a question to the client: at once where it can be asked, else by the outcome of the call. */
async function askQuestion<T>(run: Execution, prepared: PreparedQuestion<T>, key?: string): Promise<T> {
  const { method, peer, ask } = run.call;
  const inputState = inputStateOf(run);
  requireCapability(prepared.question, peer.capabilities);
  const name = inputState.claim(key);
  if (prepared.prepare !== undefined) await prepared.prepare();
  if (run.isOver) throw new McpError("cancelled", "the call is over");
  if (ask !== undefined) return run.clearDeadline(async () => prepared.read(await ask(prepared.question)));
  if (!run.mayAsk) throw new McpError("unsupported", `${method} cannot ask this client`);
  const given = await inputState.recall(prepared.question, name, unsolicited(run.call, name));
  if (given !== undefined) return accept(run, prepared, given.answer);
  run.throwIfStopped();
  const answer = inputState.wait(prepared, name);
  void run.suspendSoon();
  return answer;
}

/** A client without a state, because it got or saved none, may send answers with its first call. */
function unsolicited({ state, answers }: Call, key: string): Json | undefined {
  return state === undefined ? (answers?.[key] as Json | undefined) : undefined;
}

/** A malformed answer ends the call; the client may send a better one. */
async function accept<T>(run: Execution, prepared: PreparedQuestion<T>, answer: Json): Promise<T> {
  try {
    return await prepared.read(answer);
  } catch (error) {
    throw run.refuse(error);
  }
}

function readObject(answer: unknown, key: string): QuestionAnswer {
  if (isObject(answer)) return answer;
  throw malformed(key, "it must be an object");
}

function readElicit(answer: unknown, key: string): ElicitResult {
  if (!isObject(answer)) throw malformed(key, "it must be an object");
  const { action, content } = answer;
  if (action !== "accept" && action !== "decline" && action !== "cancel") {
    throw malformed(key, '"action" must be accept, decline or cancel');
  }
  if (action !== "accept") return { action };
  if (content !== undefined && !isObject(content)) throw malformed(key, '"content" must be an object');
  return { action, ...(content !== undefined && { content }) };
}

function readSample(answer: unknown, key: string): CreateMessageResult {
  if (!isObject(answer)) throw malformed(key, "it must be an object");
  if (!isObject(answer.content) && !Array.isArray(answer.content)) throw malformed(key, '"content" is missing');
  if (!isRole(answer.role)) throw malformed(key, '"role" must be user or assistant');
  if (typeof answer.model !== "string") throw malformed(key, '"model" must be a string');
  return answer as unknown as CreateMessageResult;
}

function readRoots(answer: unknown, key: string): ListRootsResult {
  if (!isObject(answer) || !Array.isArray(answer.roots)) throw malformed(key, '"roots" must be an array');
  if (!answer.roots.every((root) => isObject(root) && typeof root.uri === "string")) {
    throw malformed(key, 'each of "roots" must have a uri');
  }
  return answer as unknown as ListRootsResult;
}

function malformed(key: string, problem: string, data?: Json): McpError {
  const message = `the answer to ${key} is malformed: ${problem}`;
  return new McpError("invalid-params", message, { data: data ?? { key } });
}
