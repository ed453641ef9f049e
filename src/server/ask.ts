import type { Json } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitParams,
  ElicitResult,
  ElicitUrlParams,
  ListRootsResult,
  Root,
} from "../model/input.ts";
import { checkFormSchema } from "../schema/form.ts";
import type { AnySchema, InferOut } from "../schema/infer.ts";
import { toValidator } from "../schema/to-validator.ts";
import type { Validator } from "../schema/validator.ts";
import type { Execution } from "./execution.ts";
import { issueText } from "./issue-text.ts";
import { malformed, readElicit, readRoots, readSample } from "./read-answers.ts";

export interface AskOptions {
  /** Names the question on the wire and across replays. Unique within one call; numbered when absent. */
  readonly key?: string;
}

/** A form without fields: the user can only agree. */
export interface EmptyForm {
  readonly type: "object";
  readonly properties: Readonly<Record<never, never>>;
}

const emptyForm: EmptyForm = { type: "object", properties: {} };

interface Form<S extends AnySchema> {
  readonly message: string;
  readonly schema: S | undefined;
}

interface Answered {
  readonly action: ElicitResult["action"];
  readonly content?: unknown;
}

/** Asks for a form and gives its checked content. Throws `declined` when the user says no. */
export async function ask<S extends AnySchema>(
  run: Execution,
  form: Form<S>,
  options?: AskOptions,
): Promise<InferOut<S>> {
  return accepted(await askForm(run, form, options), form.message) as InferOut<S>;
}

export async function askUrl(
  run: Execution,
  params: Omit<ElicitUrlParams, "mode">,
  options?: AskOptions,
): Promise<void> {
  accepted(await elicit(run, { ...params, mode: "url" }, options), params.message);
}

export async function elicit(run: Execution, params: ElicitParams, options: AskOptions = {}): Promise<ElicitResult> {
  const { message } = params;
  if (params.mode !== "url") {
    return (await askForm(run, { message, schema: params.requestedSchema }, options)) as ElicitResult;
  }
  const question = { method: "elicitation/create", params } as const;
  return run.ask({ question, read: (answer) => readElicit(answer, options.key ?? message) }, options.key);
}

export async function sample(
  run: Execution,
  params: CreateMessageParams,
  { key }: AskOptions = {},
): Promise<CreateMessageResult> {
  const question = { method: "sampling/createMessage", params } as const;
  return run.ask({ question, read: (answer) => readSample(answer, key ?? "sample") }, key);
}

export async function roots(run: Execution, { key }: AskOptions = {}): Promise<readonly Root[]> {
  const question = { method: "roots/list", params: {} } as const;
  const read = (answer: unknown): ListRootsResult => readRoots(answer, key ?? "roots");
  return (await run.ask({ question, read }, key)).roots;
}

async function askForm(
  run: Execution,
  { message, schema = emptyForm }: Form<AnySchema>,
  { key }: AskOptions = {},
): Promise<Answered> {
  const form = formOf(schema);
  const question = { method: "elicitation/create", params: { message, requestedSchema: form.json } } as const;
  const prepare = form.prove && (() => proveForm(form));
  return run.ask({ question, prepare, read: (answer) => readForm(form, answer, key ?? message) }, key);
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

/** A form whose content does not match is malformed, whoever filled it in. */
async function readForm(form: Validator, answer: unknown, key: string): Promise<Answered> {
  const { action, content = {} } = readElicit(answer, key);
  if (action !== "accept") return { action };
  const checked = await form.check(content);
  if (checked.ok) return { action, content: checked.value };
  throw malformed(key, issueText(checked.issues), { key, issues: checked.issues as unknown as Json });
}

function accepted({ action, content }: Answered, message: string): unknown {
  if (action === "accept") return content;
  const verb = action === "decline" ? "declined" : "cancelled";
  throw new McpError("declined", `the user ${verb}: ${message}`, { data: { action } });
}
