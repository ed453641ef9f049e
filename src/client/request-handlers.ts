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
  createPendingPages,
  type ElicitForm,
  type ElicitReply,
  type ElicitUrl,
  elicitForm,
  elicitLink,
} from "./elicitation.ts";
import { createFormQueue, type FormQueue } from "./form-queue.ts";
import { type ClientWarning, guarded, toWarn } from "./warning.ts";

/**
 * Handlers for requests and notifications of the server.
 *
 * A handler is the consent to be asked: it declares the capability. `capabilities` overrides that, member by member. A
 * handler may take as long as the user does, may call the same client, and refuses by throwing an `McpError`, such as
 * `rejected` when the user denies sampling. At most four forms and pages of one server are open at a time; others are
 * queued in order.
 */
export interface QuestionHandlers {
  /**
   * Fills a form. Declares `elicitation.form`. Defaults of the schema are added
   * to what it returns, and the whole is checked before it is sent.
   */
  readonly onElicit?: ((form: ElicitForm, context: QuestionContext) => ElicitReply | Promise<ElicitReply>) | undefined;
  /**
   * Asks the user to open a page; `accept` is consent, and the handler opens the page. Declares `elicitation.url`. Only
   * `https:` URLs, and `http:` URLs of this machine, are passed.
   */
  readonly onElicitUrl?:
    | ((link: ElicitUrl, context: QuestionContext) => ElicitReply | Promise<ElicitReply>)
    | undefined;
  /** Asks the model. Declares `sampling`, but not `sampling.tools`. */
  readonly onSample?:
    | ((params: CreateMessageParams, context: QuestionContext) => CreateMessageResult | Promise<CreateMessageResult>)
    | undefined;
  /**
   * The folders that the server may access: `file://` URIs. Declares `roots`, also when empty, and `roots.listChanged`
   * for a list, which can be replaced.
   */
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
  /**
   * Called with notifications that no other callback receives: those that the protocol does not define, and those that
   * belong to no call.
   */
  readonly onNotification?:
    | ((notification: { readonly method: string; readonly params: JsonObject }) => void)
    | undefined;
  /** Called with log messages of calls without an `onLog` of their own, and with those that belong to no call. */
  readonly onLog?: ((entry: LogEntry) => void) | undefined;
  /** Called with problems that do not fail a call: a callback that throws, a schema that cannot be checked. */
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
  /** Answers a request that the protocol does not define. Absent without a handler. */
  readonly request: Opening["request"];
  /** True when there is a callback for notifications that belong to no call. */
  readonly handlesNotifications: boolean;
  /** Handles a notification that no callback of a call receives. */
  onOtherNotification(method: string, params: JsonObject): void;
  /** Ends the wait for notifications: no more will arrive. */
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
  const pendingPages = createPendingPages(clock);
  const activity = { pending: 0, served: 0 };
  const { onRequest } = options;
  const reportLog = options.onLog && guarded("onLog", options.onLog, warn);
  const reportNotification = options.onNotification && guarded("onNotification", options.onNotification, warn);

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
      ? elicitLink(params, pendingPages, context.signal, (link) =>
          handlerOf(elicitation, options.onElicitUrl)(link, context),
        )
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
    handlesNotifications: (options.onNotification ?? options.onLog ?? options.onElicitUrl) !== undefined,
    answer: (question, signal) => counted(question.method, () => dispatch(question, { signal })),
    request:
      onRequest && ((method, params, signal) => counted(method, async () => onRequest(method, params, { signal }))),
    onOtherNotification(method, params) {
      if (method === "notifications/elicitation/complete") return pendingPages.complete(params.elicitationId);
      if (method === "notifications/cancelled") return;
      const entry = method === "notifications/message" && reportLog ? readLogEntry(params) : undefined;
      if (entry === undefined) reportNotification?.({ method, params });
      else reportLog?.(entry);
    },
    close: pendingPages.close,
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
  const configured = withdrawn || Object.keys(extensions).length === 0 ? capabilities : { ...capabilities, extensions };
  const members = Object.entries({ ...implied, ...configured }).filter(([, value]) => value !== undefined);
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

/** The roots of a client. A reader gets one complete list, old or new. */
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

/** An immutable copy. Throws `invalid-params` for URIs other than `file://`. */
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

/** The result of a sampling handler. Throws `invalid-response` when its role is not one of the protocol. */
function checkSampled(result: CreateMessageResult): CreateMessageResult {
  if (isRole(result?.role)) return result;
  const given = JSON.stringify(result?.role);
  throw new McpError("invalid-response", `the role that onSample gave must be user or assistant, not ${given}`);
}

/** Every tool use is answered in the next message, which contains nothing but tool results. */
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
  /** Aborts when the answer is not needed any more. */
  readonly signal: AbortSignal;
}
