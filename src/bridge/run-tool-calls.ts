import type { JsonObject } from "../json/json.ts";
import type { CreateMessageParams, CreateMessageResult } from "../protocol/input.ts";
import type { CallToolResult } from "../protocol/tool.ts";
import type { NamedResult, ProviderFormat, ToolCall, Toolkit } from "./bridge.ts";
import type { Offers } from "./offers.ts";
import { type RawCall, readCall, resultTurn, type Turn, turnsOf } from "./read-call.ts";

/** Runs one tool by its own name. A string is its text. */
export type RunTool = (name: string, input: JsonObject) => Promise<CallToolResult | string>;

/**
 * Runs the calls of one reply in parallel, and returns their results in the same order. A call with a problem is not
 * run: the problem becomes its result, and so does the message of an error that `run` throws. Never rejects.
 */
export function runToolCalls(calls: readonly ToolCall[], run: RunTool): Promise<readonly NamedResult[]> {
  return Promise.all(calls.map((call) => runCall(call, run)));
}

async function runCall(call: ToolCall, run: RunTool): Promise<NamedResult> {
  if (call.problem !== undefined) return failed(call, call.problem);
  try {
    const output = await run(call.name, call.input);
    return typeof output === "string"
      ? toNamedResult(call, { content: [{ type: "text", text: output }] })
      : toNamedResult(call, output);
  } catch (error) {
    return failed(call, error instanceof Error ? error.message : String(error));
  }
}

function failed(call: ToolCall, message: string): NamedResult {
  return toNamedResult(call, { content: [{ type: "text", text: message }], isError: true });
}

/** The output of a tool as the result of a call. */
export function toNamedResult({ id, name }: ToolCall, result: CallToolResult): NamedResult {
  const { content, structuredContent, isError } = result;
  return {
    type: "tool_result",
    toolUseId: id,
    name,
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError === true && { isError }),
  };
}

/** What is different from provider to provider. */
interface ToolkitParts<F extends ProviderFormat, P> {
  readonly offers: Offers<P>;
  readonly validate: boolean;
  readonly tools: F["tools"];
  request(params: CreateMessageParams, messages: F["message"][]): F["request"];
  messagesOf(turns: readonly Turn[]): F["message"][];
  callsOf(reply: F["reply"]): readonly RawCall[];
  toAnswer(reply: F["reply"], offers: Offers<P>): CreateMessageResult;
}

/** The shape that all bridges have. */
export function createToolkit<F extends ProviderFormat, P>(parts: ToolkitParts<F, P>): Toolkit<F> {
  const { offers, validate, tools, request, messagesOf, callsOf, toAnswer } = parts;
  return {
    tools,
    skipped: offers.skipped,
    notes: offers.notes,
    request: (params) => request(params, messagesOf(turnsOf(params.messages))),
    messages: (messages) => messagesOf(turnsOf(messages)),
    calls: (reply) => Promise.all(callsOf(reply).map((raw) => readCall(raw, offers, validate))),
    results: (results) => messagesOf(resultTurn(results)),
    reply: (reply) => toAnswer(reply, offers),
  };
}
