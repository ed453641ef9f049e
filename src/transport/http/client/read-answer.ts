import type { JsonLimits } from "../../../json/parse.ts";
import {
  type Id,
  type Malformed,
  type Message,
  type Parsed,
  parseText,
  type Response,
} from "../../../jsonrpc/message.ts";
import { McpError } from "../../../model/errors.ts";
import { quote } from "../http-message.ts";
import type { IncomingResponse } from "../http-send.ts";
import { isJsonType } from "../media-type.ts";
import { httpError, statusText } from "./http-errors.ts";

/** Bounds on what a server may answer. */
export interface AnswerLimits {
  /** Of one body, or one event. */
  readonly maxBytes: number;
  readonly json?: JsonLimits | undefined;
}

const defaultMaxBytes = 16_777_216;

/** `maxBytes` is 16 MiB unless given; 0 is off. */
export function answerLimits(maxBytes: number = defaultMaxBytes, json?: JsonLimits): AnswerLimits {
  return { maxBytes: maxBytes === 0 ? Number.POSITIVE_INFINITY : maxBytes, json };
}

export function isEventStream(response: IncomingResponse): boolean {
  const type = response.header("content-type");
  // Most answers say just this, and need no closer look.
  if (type === undefined || type === "application/json") return false;
  return isOk(response.status) && /^text\/event-stream\s*(;|$)/i.test(type);
}

export function isOk(status: number): boolean {
  return status >= 200 && status < 300;
}

/**
 * The answer to request `id` in a body that is no stream. A failure in the body
 * of an error counts as the answer, unless the status says more than it does.
 *
 * Rejects with an `McpError` when there is none.
 */
export async function readAnswer(response: IncomingResponse, id: Id, limits: AnswerLimits): Promise<Response> {
  if (!isOk(response.status)) return readRefusal(response, id, limits);
  const type = response.header("content-type");
  if (!isJsonType(type)) {
    response.discard();
    throw new McpError("invalid-response", noAnswer(response, `with the type ${quote(type)}`));
  }
  const text = await response.text(limits.maxBytes);
  const answer = answerIn(parseText(text, limits.json), id);
  if (answer !== undefined) return answer;
  throw new McpError("invalid-response", noAnswer(response, text === "" ? "with nothing" : "with something else"));
}

function noAnswer({ status }: IncomingResponse, how: string): string {
  return `the server answered ${statusText(status)} ${how}, not with the answer to the request`;
}

/** Statuses with headers that whoever handles them needs. */
const telling: ReadonlySet<number> = new Set([401, 403, 429, 503]);

async function readRefusal(response: IncomingResponse, id: Id, { maxBytes, json }: AnswerLimits): Promise<Response> {
  const text = await response.text(maxBytes).catch(() => "");
  const answer = answerIn(parseText(text, json), id);
  if (answer?.kind === "failure" && !telling.has(response.status)) return answer;
  throw httpError(response, answer?.kind === "failure" ? answer.error.message : undefined);
}

/** The response to `id` in what was read. An error without an id can only be meant for it. */
function answerIn(parsed: Parsed, id: Id): Response | undefined {
  for (const message of messagesIn(parsed)) {
    if (message.kind === "failure" && message.id === null) return { ...message, id };
    if (isAnswerTo(message, id)) return message;
  }
  return undefined;
}

export function isAnswerTo(message: Message | Malformed, id: Id): message is Response {
  return (message.kind === "success" || message.kind === "failure") && message.id === id;
}

/** One by one, for it does not matter here whether they came in an array. */
export function messagesIn(parsed: Parsed): readonly (Message | Malformed)[] {
  return parsed.kind === "batch" ? parsed.items : [parsed];
}
