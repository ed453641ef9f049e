import type { CreateMessageParams, CreateMessageResult } from "../model/input.ts";
import type { ProviderFormat, Toolkit } from "./bridge.ts";
import { resultTurn, type Turn, turnsOf } from "./conversation.ts";
import type { Offers } from "./offers.ts";
import { type RawCall, readCall } from "./read-call.ts";

/** What is different from provider to provider. */
export interface ToolkitParts<F extends ProviderFormat, P> {
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
