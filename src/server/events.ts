import type { ErrorCode } from "../protocol/errors.ts";
import type { Implementation } from "../protocol/peer.ts";
import type { CallEvent, ServerEvent } from "../protocol/server-event.ts";
import type { Outcome } from "../protocol/service.ts";
import type { CallEnding, ObservedCall, Telemetry } from "../protocol/telemetry.ts";

/** Emits an event for every call when it has ended. `now` is the time of day. */
export function eventTelemetry(onEvent: (event: ServerEvent) => void, now: () => number): Telemetry {
  const timeText = createTimeText();
  return {
    startCall: (call) => ({ end: (ending) => onEvent(eventOf(call, ending, timeText(now()))) }),
  };
}

/** Writes a time of day in ISO 8601. A busy server ends many calls in the same millisecond, and writing it is the dearest part of an event. */
function createTimeText(): (ms: number) => string {
  let [last, text] = [Number.NaN, ""];
  return (ms) => {
    const time = Math.trunc(ms);
    if (time !== last) [last, text] = [time, new Date(time).toISOString()];
    return text;
  };
}

/** Rejections are not errors of the server: the caller is not allowed to, or has to wait. */
const rejectionCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "unauthorized",
  "forbidden",
  "denied",
  "limit-reached",
]);

/** Unknown members are undefined, which JSON leaves out: copying without them would be too expensive. */
function eventOf(call: ObservedCall, { outcome, code, durationMs }: CallEnding, time: string): ServerEvent {
  const { requestId, client, http, method } = call;
  const facts = {
    time,
    requestId,
    principal: client.auth?.principal,
    address: http?.remoteAddress,
    client: client.info === undefined ? undefined : programOf(client.info),
    revision: client.revision,
    method,
    name: call.name ?? call.uri,
    durationMs: Math.round(durationMs * 1_000) / 1_000,
  };
  if (code !== undefined && rejectionCodes.has(code)) return { kind: "refused", ...facts, code };
  return {
    kind: "call",
    ...facts,
    outcome: kindOf(outcome, code),
    code,
    requestBytes: bytesOf(http?.header("content-length")),
    resultChars: outcome?.kind === "complete" ? charsOf(outcome.result) : undefined,
  };
}

/** What a program calls itself may be of any length. */
function programOf({ name, version }: Implementation): string {
  const program = `${name} ${version}`;
  return program.length > MAX_CLIENT_CHARS ? `${program.slice(0, MAX_CLIENT_CHARS)}…` : program;
}

const MAX_CLIENT_CHARS = 128;

function kindOf(outcome: Outcome | undefined, code: ErrorCode | undefined): CallEvent["outcome"] {
  return code === "tool-error" ? code : (outcome?.kind ?? "failed");
}

function bytesOf(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

/** Undefined for a result without content: lists are the same for all callers. */
function charsOf(result: object): number | undefined {
  if ("content" in result && Array.isArray(result.content)) return sumOf(result.content);
  if ("contents" in result && Array.isArray(result.contents)) return sumOf(result.contents);
  if (!("messages" in result && Array.isArray(result.messages))) return undefined;
  return sumOf(result.messages.map((message) => message.content));
}

function sumOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, block) => sum + (textIn(block) ?? textIn(block.resource) ?? "").length, 0);
}

function textIn(block: Block | undefined): string | undefined {
  return block?.text ?? block?.data ?? block?.blob;
}

/** A block of content, or the contents of a resource. */
interface Block {
  readonly text?: string;
  readonly data?: string;
  readonly blob?: string;
  readonly resource?: Block;
}
