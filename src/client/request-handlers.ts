import { isObject, type JsonObject } from "../json/json.ts";
import type { Opening } from "../protocol/connection.ts";
import { isRole } from "../protocol/content.ts";
import { McpError } from "../protocol/errors.ts";
import {
  type CreateMessageParams,
  type CreateMessageResult,
  type ElicitParams,
  type ElicitResult,
  type Question,
  type QuestionAnswer,
  type Root,
  roleProblem,
  type SamplingContent,
  type SamplingMessage,
} from "../protocol/input.ts";
import { type ClientCapabilities, canShowForms } from "../protocol/peer.ts";
import { tasksExtension } from "../protocol/task.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { type LogEntry, readLogEntry } from "./call-options.ts";
import {
  createVisits,
  type ElicitForm,
  type ElicitReply,
  type ElicitUrl,
  elicitForm,
  elicitLink,
} from "./elicitation.ts";
import { createFormQueue, type FormQueue } from "./form-queue.ts";
import { type ClientWarning, guarded, toWarn } from "./warning.ts";

/**
 * What a client answers when its server asks, and what it hears besides.
 *
 * Giving a handler is the consent to being asked: it declares the capability.
 * `capabilities` has the last word, member by member. A handler may take as long
 * as the user does, may call the same client, and refuses by throwing an
 * `McpError`, such as `rejected` when the user says no to sampling. At most four
 * forms and pages of one server are open at a time; more wait in their order.
 */
export interface QuestionHandlers {
  /**
   * Fills a form. Declares `elicitation.form`. Defaults of the schema are added
   * to what it returns, and the whole is checked before it is sent.
   */
  readonly onElicit?: ((form: ElicitForm, context: QuestionContext) => ElicitReply | Promise<ElicitReply>) | undefined;
  /**
   * Asks the user to open a page; `accept` is consent, and opening it is up to
   * the handler. Declares `elicitation.url`. Only https, and http on this very
   * machine, get here.
   */
  readonly onElicitUrl?:
    | ((link: ElicitUrl, context: QuestionContext) => ElicitReply | Promise<ElicitReply>)
    | undefined;
  /** Asks the model. Declares `sampling`, but not `sampling.tools`. */
  readonly onSample?:
    | ((params: CreateMessageParams, context: QuestionContext) => CreateMessageResult | Promise<CreateMessageResult>)
    | undefined;
  /** Where the server may look: `file://` URIs. Declares `roots`, also when empty; a list that can be set again, `roots.listChanged`. */
  readonly roots?:
    | readonly Root[]
    | ((context: QuestionContext) => readonly Root[] | Promise<readonly Root[]>)
    | undefined;
  /**
   * Answers requests that the protocol does not define. Only servers of revisions before 2026-07-28 can send any. It
   * refuses by throwing an `McpError`; without it such requests are `method-not-found`.
   */
  readonly onRequest?:
    | ((method: string, params: JsonObject, context: QuestionContext) => object | Promise<object>)
    | undefined;
  /** False declares no tasks: servers then answer every call with its result, or not at all. */
  readonly tasks?: boolean | undefined;
  /** Declared instead of what the handlers imply; extensions besides. A member set to undefined is not declared at all. */
  readonly capabilities?: { readonly [K in keyof ClientCapabilities]: ClientCapabilities[K] | undefined } | undefined;
  /** Hears notifications of the server that nothing else hears: those of vendors, and those that belong to no call. */
  readonly onNotification?:
    | ((notification: { readonly method: string; readonly params: JsonObject }) => void)
    | undefined;
  /** Hears log messages of every call that has no `onLog` of its own, and those of no call. */
  readonly onLog?: ((entry: LogEntry) => void) | undefined;
  /** Hears what went wrong without failing a call: a throwing callback, a schema that cannot be checked. */
  readonly onWarning?: ((warning: ClientWarning) => void) | undefined;
}

/** Answers the questions of one server. */
export interface ClientRequestHandlers {
  /** What the client declares. Never changes. */
  readonly capabilities: ClientCapabilities;
  /** True when there is any question it could answer. */
  readonly isOpen: boolean;
  /** Questions being answered, and how many have been. */
  readonly activity: { readonly pending: number; readonly served: number };
  /**
   * Answers one question. Rejects with an `McpError`: `method-not-found` when
   * the kind is not declared or has no handler, `invalid-params` when the
   * question breaks the rules.
   */
  answer(question: Question, signal: AbortSignal, related?: string | number): Promise<QuestionAnswer>;
  /** Answers a request that the protocol does not define. Absent where nobody does. */
  readonly request: Opening["request"];
  /** True when there is somebody to hear what belongs to no callback of a call. */
  readonly hears: boolean;
  /** Hears a notification that no callback of a call takes. */
  notified(method: string, params: JsonObject): void;
  /** Nothing more will be heard: who waits for that need not. */
  close(): void;
  /** Replaces the roots, all at once. Throws `unsupported` unless `roots.listChanged` was declared. */
  setRoots(roots: readonly Root[]): void;
}

export function createRequestHandlers(
  options: QuestionHandlers = {},
  clock: Clock = systemClock,
  forms: FormQueue = createFormQueue(),
): ClientRequestHandlers {
  const capabilities = declared(options);
  const warn = toWarn(options.onWarning);
  const roots = createRoots(options.roots);
  const visits = createVisits(clock);
  const activity = { pending: 0, served: 0 };
  const { onRequest } = options;
  const tellLog = options.onLog && guarded("onLog", options.onLog, warn);
  const tellRest = options.onNotification && guarded("onNotification", options.onNotification, warn);

  const dispatch = async (question: Question, context: QuestionContext): Promise<object> => {
    refuseUndeclared(question, capabilities);
    switch (question.method) {
      case "elicitation/create":
        return forms.show(context.signal, () => elicit(question.params, context));
      case "sampling/createMessage":
        checkSampling(question.params, capabilities);
        return checkSampled(await handlerOf(question, options.onSample)(question.params, context));
      case "roots/list":
        return { roots: await handlerOf(question, roots.list)(context) };
      default:
        throw notFound(question);
    }
  };

  const elicit = (params: ElicitParams, context: QuestionContext): Promise<ElicitResult> =>
    params.mode === "url"
      ? elicitLink(params, visits, context.signal, (link) => handlerOf(elicitation, options.onElicitUrl)(link, context))
      : elicitForm(params, (form) => handlerOf(elicitation, options.onElicit)(form, context));

  const counted = async (method: string, work: () => Promise<object>): Promise<QuestionAnswer> => {
    activity.pending++;
    try {
      const given = await work();
      if (!isObject(given)) throw new McpError("internal", `the handler of ${method} gave no object`);
      return given;
    } catch (error) {
      if (error instanceof McpError) throw error;
      throw new McpError("internal", `the handler of ${method} failed`, { cause: error });
    } finally {
      activity.pending--;
      activity.served++;
    }
  };

  return {
    capabilities,
    isOpen: (capabilities.elicitation ?? capabilities.sampling ?? capabilities.roots) !== undefined,
    activity,
    hears: (options.onNotification ?? options.onLog ?? options.onElicitUrl) !== undefined,
    answer: (question, signal) => counted(question.method, () => dispatch(question, { signal })),
    request:
      onRequest && ((method, params, signal) => counted(method, async () => onRequest(method, params, { signal }))),
    notified(method, params) {
      if (method === "notifications/elicitation/complete") return visits.complete(params.elicitationId);
      if (method === "notifications/cancelled") return;
      const entry = method === "notifications/message" && tellLog ? readLogEntry(params) : undefined;
      if (entry === undefined) tellRest?.({ method, params });
      else tellLog?.(entry);
    },
    close: visits.close,
    setRoots(list) {
      if (capabilities.roots?.listChanged === true) return roots.replace(list);
      throw new McpError(
        "unsupported",
        "setRoots needs the capability roots.listChanged, which was not declared: give connect roots as a list",
      );
    },
  };
}

/** What the handlers imply, unless the user says otherwise. */
function declared({
  onElicit,
  onElicitUrl,
  onSample,
  roots,
  tasks,
  capabilities,
}: QuestionHandlers): ClientCapabilities {
  const extensions = { ...(tasks !== false && { [tasksExtension]: {} }), ...capabilities?.extensions };
  const implied: ClientCapabilities = {
    ...((onElicit ?? onElicitUrl) && {
      elicitation: { ...(onElicit && { form: {} }), ...(onElicitUrl && { url: {} }) },
    }),
    ...(onSample && { sampling: {} }),
    ...(roots && { roots: typeof roots === "function" ? {} : { listChanged: true } }),
  };
  const withdrawn = capabilities !== undefined && "extensions" in capabilities && capabilities.extensions === undefined;
  const told = withdrawn || Object.keys(extensions).length === 0 ? capabilities : { ...capabilities, extensions };
  const members = Object.entries({ ...implied, ...told }).filter(([, value]) => value !== undefined);
  return Object.freeze(Object.fromEntries(members));
}

function refuseUndeclared(question: Question, { elicitation, sampling, roots }: ClientCapabilities): void {
  switch (question.method) {
    case "elicitation/create":
      if (elicitation === undefined) throw notFound(question);
      if (question.params.mode === "url" ? elicitation.url === undefined : !canShowForms({ elicitation })) {
        throw new McpError(
          "invalid-params",
          `this client does not declare elicitation.${question.params.mode ?? "form"}`,
        );
      }
      return;
    case "sampling/createMessage":
      if (sampling === undefined) throw notFound(question);
      return;
    case "roots/list":
      if (roots === undefined) throw notFound(question);
  }
}

const elicitation = { method: "elicitation/create" } as const;

function handlerOf<H>(question: Pick<Question, "method">, handler: H | undefined): H {
  if (handler === undefined) throw notFound(question);
  return handler;
}

function notFound({ method }: Pick<Question, "method">): McpError {
  return new McpError("method-not-found", `this client does not answer ${method}`);
}

/** The places a client lets its server look at. A reader sees one whole list, old or new. */
interface Roots {
  /** Undefined when there never was a list. */
  readonly list: ((context: QuestionContext) => Promise<readonly Root[]>) | undefined;
  replace(roots: readonly Root[]): void;
}

/** A list, or a function that is asked each time. */
type RootsSource = readonly Root[] | ((context: QuestionContext) => readonly Root[] | Promise<readonly Root[]>);

function createRoots(source: RootsSource | undefined): Roots {
  let current = typeof source === "object" ? checked(source) : source;

  return {
    get list() {
      const now = current;
      if (now === undefined) return undefined;
      return async (context: QuestionContext) => (typeof now === "function" ? checked(await now(context)) : now);
    },
    replace(roots) {
      current = checked(roots);
    },
  };
}

/** A copy that nobody can change. Throws `invalid-params` for anything but `file://`. */
function checked(roots: readonly Root[]): readonly Root[] {
  for (const { uri } of roots) {
    if (!uri.startsWith("file://")) throw new McpError("invalid-params", `root ${uri} must start with file://`);
  }
  return Object.freeze([...roots]);
}

/** Throws `invalid-params` when a request for sampling uses undeclared tools, unknown roles, or mixes up results of tools. */
export function checkSampling({ messages, tools, toolChoice }: CreateMessageParams, has: ClientCapabilities): void {
  if ((tools !== undefined || toolChoice !== undefined) && has.sampling?.tools === undefined) {
    throw new McpError("invalid-params", "this client does not declare sampling.tools");
  }
  const problem = roleProblem(messages);
  if (problem !== undefined) throw new McpError("invalid-params", problem);
  checkToolResults(messages);
}

/** What a handler of sampling gave. Throws `invalid-response` when its role is none of the protocol. */
function checkSampled(result: CreateMessageResult): CreateMessageResult {
  if (isRole(result?.role)) return result;
  const given = JSON.stringify(result?.role);
  throw new McpError("invalid-response", `the role that onSample gave must be user or assistant, not ${given}`);
}

/** Every use of a tool is answered in the very next message, which holds nothing but results. */
function checkToolResults(messages: readonly SamplingMessage[]): void {
  let unanswered: ReadonlySet<string> = new Set();
  for (const [index, message] of messages.entries()) {
    const blocks = toBlocks(message);
    const answered = new Set(blocks.flatMap((block) => (block.type === "tool_result" ? [block.toolUseId] : [])));
    if (answered.size > 0 && blocks.some((block) => block.type !== "tool_result")) {
      throw new McpError("invalid-params", `messages[${index}] mixes tool results with other content`);
    }
    refuseDifference(unanswered, answered, index);
    unanswered = new Set(blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])));
  }
  refuseDifference(unanswered, new Set(), messages.length);
}

function refuseDifference(used: ReadonlySet<string>, answered: ReadonlySet<string>, index: number): void {
  for (const id of used) {
    if (!answered.has(id))
      throw new McpError("invalid-params", `messages[${index}] lacks the result of tool use ${id}`);
  }
  for (const id of answered) {
    if (!used.has(id))
      throw new McpError("invalid-params", `messages[${index}] has a result for unknown tool use ${id}`);
  }
}

function toBlocks({ content }: SamplingMessage): readonly SamplingContent[] {
  return [content].flat();
}

/** What a handler of questions is given besides the question. */
export interface QuestionContext {
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}
