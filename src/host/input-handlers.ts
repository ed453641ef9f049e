import type { LogEntry } from "../client/call-options.ts";
import type { ElicitForm, ElicitReply, ElicitUrl } from "../client/elicitation.ts";
import type { QuestionContext, QuestionHandlers } from "../client/request-handlers.ts";
import type { ClientWarning } from "../client/warning.ts";
import type { JsonObject } from "../json/json.ts";
import type { CreateMessageParams, CreateMessageResult, Root } from "../protocol/input.ts";
import type { FullTrust } from "./spec.ts";

/** What a handler of questions is given besides the question. */
export interface HostQuestionContext extends QuestionContext {
  /** The name of the server that asks. Show it: users decide by it. */
  readonly server: string;
}

/**
 * What the host answers when a server asks, one handler for all servers.
 *
 * Giving a handler is the consent; whom it is meant for, `trust` says, server
 * by server.
 */
export interface HostQuestionHandlers {
  readonly onElicit?:
    | ((form: ElicitForm, context: HostQuestionContext) => ElicitReply | Promise<ElicitReply>)
    | undefined;
  readonly onElicitUrl?:
    | ((link: ElicitUrl, context: HostQuestionContext) => ElicitReply | Promise<ElicitReply>)
    | undefined;
  /** Asks the model. Only servers with `trust.sample` get here. */
  readonly onSample?:
    | ((
        params: CreateMessageParams,
        context: HostQuestionContext,
      ) => CreateMessageResult | Promise<CreateMessageResult>)
    | undefined;
  /** What `onSample` can do besides, as it is told to servers: let the model use tools they bring, or tools of the host. */
  readonly sampling?: { readonly tools?: boolean | undefined; readonly context?: boolean | undefined } | undefined;
  /** Where servers may look: `file://` URIs. `setRoots` replaces them. */
  readonly roots?: readonly Root[] | undefined;
  /** Answers requests of servers that the protocol does not define. Only those that may ask the user can send any. */
  readonly onRequest?:
    | ((method: string, params: JsonObject, context: HostQuestionContext) => object | Promise<object>)
    | undefined;
  readonly onLog?: ((entry: LogEntry & { readonly server: string }) => void) | undefined;
  readonly onWarning?: ((warning: ClientWarning & { readonly server: string }) => void) | undefined;
}

/** The handlers for one server: what it is trusted with, told with its name. */
export function answersFor(server: string, options: HostQuestionHandlers, trust: FullTrust): QuestionHandlers {
  const { onElicit, onElicitUrl, onSample, onRequest, sampling = {}, roots, onLog, onWarning } = options;
  const abilities = { ...(sampling.tools && { tools: {} }), ...(sampling.context && { context: {} }) };
  return {
    ...(trust.ask && onElicit && { onElicit: (form, context) => onElicit(form, { ...context, server }) }),
    ...(trust.ask && onElicitUrl && { onElicitUrl: (link, context) => onElicitUrl(link, { ...context, server }) }),
    ...(trust.sample &&
      onSample && {
        onSample: (params, context) => onSample(params, { ...context, server }),
        capabilities: { sampling: abilities },
      }),
    ...(trust.roots && roots && { roots }),
    ...(trust.ask &&
      onRequest && { onRequest: (method, params, context) => onRequest(method, params, { ...context, server }) }),
    ...(onLog && { onLog: (entry) => onLog({ ...entry, server }) }),
    ...(onWarning && { onWarning: (warning) => onWarning({ ...warning, server }) }),
  };
}
