import { asJson, type JsonObject } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { Answer, CreateMessageParams, CreateMessageResult, Question, Root } from "../model/input.ts";
import { type ClientCapabilities, canShowForms } from "../model/peer.ts";
import { tasksExtension } from "../model/task.ts";
import type { LogEntry } from "./call-options.ts";
import { createVisits, type ElicitForm, type ElicitLink, type ElicitReply, elicitForm, elicitLink } from "./elicit.ts";
import { readLogEntry } from "./notices.ts";
import { createRoots } from "./roots.ts";
import { checkSampling } from "./sampling.ts";
import { type ClientWarning, guarded, toWarn } from "./warning.ts";

/** What a handler of questions is given besides the question. */
export interface AnswerContext {
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/**
 * What a client answers when its server asks, and what it hears besides.
 *
 * Giving a handler is the consent to being asked: it declares the capability.
 * `capabilities` has the last word, member by member. A handler may take as long
 * as the user does, may call the same client, and refuses by throwing an
 * `McpError`, such as `rejected` when the user says no to sampling.
 */
export interface AnswerOptions {
  /**
   * Fills a form. Declares `elicitation.form`. Defaults of the schema are added
   * to what it returns, and the whole is checked before it is sent.
   */
  readonly onElicit?: (form: ElicitForm, context: AnswerContext) => ElicitReply | Promise<ElicitReply>;
  /**
   * Asks the user to open a page; `accept` is consent, and opening it is up to
   * the handler. Declares `elicitation.url`. Only https, and http on this very
   * machine, get here.
   */
  readonly onElicitUrl?: (link: ElicitLink, context: AnswerContext) => ElicitReply | Promise<ElicitReply>;
  /** Asks the model. Declares `sampling`, but not `sampling.tools`. */
  readonly onSample?: (
    params: CreateMessageParams,
    context: AnswerContext,
  ) => CreateMessageResult | Promise<CreateMessageResult>;
  /** Where the server may look: `file://` URIs. Declares `roots`, also when empty; a list that can be set again, `roots.listChanged`. */
  readonly roots?: readonly Root[] | (() => readonly Root[] | Promise<readonly Root[]>);
  /** False declares no tasks: servers then answer every call with its result, or not at all. */
  readonly tasks?: boolean;
  /** Declared instead of what the handlers imply; extensions besides. A member set to undefined is not declared at all. */
  readonly capabilities?: { readonly [K in keyof ClientCapabilities]: ClientCapabilities[K] | undefined };
  /** Hears notifications that belong to no call. */
  readonly onNotification?: (notification: { readonly method: string; readonly params: JsonObject }) => void;
  /** Hears log messages of every call that has no `onLog` of its own, and those of no call. */
  readonly onLog?: (entry: LogEntry) => void;
  /** Hears what went wrong without failing a call: a throwing callback, a schema that cannot be checked. */
  readonly onWarning?: (warning: ClientWarning) => void;
}

/** Answers the questions of one server. */
export interface AnswerDesk {
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
  answer(question: Question, signal: AbortSignal): Promise<Answer>;
  /** Hears a notification that belongs to no call. */
  notified(method: string, params: JsonObject): void;
  /** Replaces the roots, all at once. Throws `unsupported` unless `roots.listChanged` was declared. */
  setRoots(roots: readonly Root[]): void;
}

export function createAnswerDesk(options: AnswerOptions = {}): AnswerDesk {
  const capabilities = declared(options);
  const warn = toWarn(options.onWarning);
  const roots = createRoots(options.roots);
  const visits = createVisits();
  const activity = { pending: 0, served: 0 };
  const tellLog = options.onLog && guarded("onLog", options.onLog, warn);
  const tellRest = options.onNotification && guarded("onNotification", options.onNotification, warn);

  const dispatch = async (question: Question, context: AnswerContext): Promise<object> => {
    refuseUndeclared(question, capabilities);
    switch (question.method) {
      case "elicitation/create":
        return question.params.mode === "url"
          ? elicitLink(question.params, visits, (link) => handlerOf(question, options.onElicitUrl)(link, context))
          : elicitForm(question.params, (form) => handlerOf(question, options.onElicit)(form, context));
      case "sampling/createMessage":
        checkSampling(question.params, capabilities);
        return handlerOf(question, options.onSample)(question.params, context);
      case "roots/list":
        return { roots: await handlerOf(question, roots.list)() };
      default:
        throw notFound(question);
    }
  };

  return {
    capabilities,
    isOpen: (capabilities.elicitation ?? capabilities.sampling ?? capabilities.roots) !== undefined,
    activity,
    async answer(question, signal) {
      activity.pending++;
      try {
        return asJson(await dispatch(question, { signal }));
      } catch (error) {
        if (error instanceof McpError) throw error;
        throw new McpError("internal", `the handler of ${question.method} failed`, { cause: error });
      } finally {
        activity.pending--;
        activity.served++;
      }
    },
    notified(method, params) {
      if (method === "notifications/elicitation/complete") return visits.complete(params.elicitationId);
      if (method === "notifications/cancelled") return;
      const entry = method === "notifications/message" && tellLog ? readLogEntry(params) : undefined;
      if (entry === undefined) tellRest?.({ method, params });
      else tellLog?.(entry);
    },
    setRoots(list) {
      if (capabilities.roots?.listChanged === true) return roots.replace(list);
      throw new McpError("unsupported", "setRoots needs the capability roots.listChanged, which was not declared");
    },
  };
}

/** What the handlers imply, unless the user says otherwise. */
function declared({ onElicit, onElicitUrl, onSample, roots, tasks, capabilities }: AnswerOptions): ClientCapabilities {
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

function handlerOf<H>(question: Question, handler: H | undefined): H {
  if (handler === undefined) throw notFound(question);
  return handler;
}

function notFound({ method }: Question): McpError {
  return new McpError("method-not-found", `this client does not answer ${method}`);
}
