import type { Socket } from "node:net";
import type { JsonObject } from "../../json/json.ts";
import type { Channel } from "../../jsonrpc/channel.ts";
import { createPeer } from "../../jsonrpc/create-peer.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import type { Id, Incoming, Notification } from "../../jsonrpc/message.ts";
import type { RequestOptions } from "../../jsonrpc/outbound.ts";
import type { RpcPeer } from "../../jsonrpc/peer.ts";
import type { Connection, Ending, Opening } from "../../protocol/connection.ts";
import { type Failure, McpError, toError, toFailure } from "../../protocol/errors.ts";
import type { Question, QuestionAnswer } from "../../protocol/input.ts";
import { type Call, type Outcome, onAbort, type Service } from "../../protocol/service.ts";
import { lineChannel } from "../../transport/node/line-channel.ts";
import { closedFailure, failureOf } from "../../transport/send-call.ts";
import {
  type CallParams,
  type Done,
  type OpenedResult,
  type OpenParams,
  type OpenResult,
  warmLimits,
  warmMethods,
} from "./messages.ts";

/** What a background process tells besides the protocol. */
export interface RemoteHooks {
  stderr(text: string): void;
  warning(message: string): void;
}

/**
 * A connection that a background process has, used over its socket. Undefined when the process has ended before it answered,
 * or is of another version and ends now: another one has to be asked.
 */
export async function openRemote(
  socket: Socket,
  params: OpenParams,
  opening: Opening,
  hooks: RemoteHooks,
): Promise<Connection | undefined> {
  let closedHere = false;
  let end = (_ending: Ending): void => {};
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const heard = createHeard(opening, hooks, end);
  const rpc = createPeer(
    unlessLost(lineChannel(socket, socket, { limits: warmLimits }), () => closedHere),
    {
      onRequest: (exchange) => void answer(exchange, opening),
      onNotification: ({ method, params: told }) => heard[method]?.(told),
      findRequestId: ({ method, params: told }) => (method === warmMethods.notify ? (told.call as Id) : undefined),
      onEnd: (error) => end(closedHere ? undefined : closedFailure(error)),
    },
    { clock: opening.clock, maxOpenRequests: 0, drainMs: 0, answerUnreadable: false },
  );
  const close = (): Promise<void> => {
    closedHere = true;
    return rpc.close();
  };
  opening.signal?.addEventListener("abort", () => void close(), { once: true });
  void rpc.run();

  const waitMs = opening.timeoutMs === 0 ? 0 : opening.timeoutMs + graceMs;
  const reply = await rpc.request(warmMethods.open, () => params as unknown as JsonObject, {
    limits: { idleMs: waitMs, totalMs: waitMs },
  });
  if (reply.kind === "lost" && reply.reason === "timeout") throw await silent(close);
  if (opening.signal?.aborted) throw new McpError("cancelled", "connecting was cancelled");
  const result = reply.kind === "success" ? (reply.result as unknown as OpenResult) : undefined;
  if (result?.kind === "opened") return { ...createRemote(result, rpc, opening), ended, close };
  await close();
  if (result?.kind === "failed") throw toError(result.failure);
  return undefined;
}

/** How much longer than the background process a command waits for a server to be connected. */
export const graceMs = 2_000;

async function silent(close: () => Promise<void>): Promise<McpError> {
  await close();
  const message = "the background process that keeps the server does not answer; end it with plugbay warm stop --all";
  return new McpError("timeout", message, { data: { phase: "connect" } });
}

/** The end of the socket is the end of the background process: whoever waits is told so. */
function unlessLost(channel: Channel, isClosed: () => boolean): Channel {
  async function* incoming(): AsyncGenerator<readonly Incoming[]> {
    yield* channel.incoming;
    if (!isClosed()) throw new McpError("connection-closed", lost);
  }
  return { ...channel, incoming: incoming() };
}

const lost = "the background process that kept the server has ended; the next command starts another one";

type Heard = Readonly<Record<string, (params: JsonObject) => void>>;

/** What is told and belongs to no call. */
function createHeard(opening: Opening, hooks: RemoteHooks, end: (ending: Ending) => void): Heard {
  return {
    [warmMethods.told]: ({ method, params }) => opening.notified(method as string, params as JsonObject),
    [warmMethods.stderr]: ({ text }) => hooks.stderr(text as string),
    [warmMethods.warning]: ({ message }) => hooks.warning(message as string),
    [warmMethods.ended]: ({ failure }) => end(failure as unknown as Failure),
  };
}

/** Answers a question of the server. */
async function answer(exchange: IncomingRequest, opening: Opening): Promise<void> {
  const { question } = exchange.request.params as unknown as { readonly question: Question };
  const given: Done<QuestionAnswer> = await opening.answer(question, exchange.abort.signal).then(
    (value) => ({ ok: true, value }),
    (error: unknown) => ({ ok: false, failure: refusalOf(error) }),
  );
  exchange.succeed(given as unknown as JsonObject);
}

function refusalOf(error: unknown): Failure {
  return error instanceof McpError ? toFailure(error) : { code: "internal", message: "internal error" };
}

function createRemote(
  { revision, server, hasSession, takesHeaders, can }: OpenedResult,
  rpc: RpcPeer,
  { info, capabilities }: Opening,
): Omit<Connection, "ended" | "close"> {
  const ask = async (method: string, params: JsonObject): Promise<void> => {
    const reply = await rpc.request(method, () => params);
    if (reply.kind !== "success") throw toError(failureOf(reply, plain, method));
    const done = reply.result as unknown as Done<null>;
    if (!done.ok) throw toError(done.failure);
  };
  return {
    service: createRemoteService(rpc),
    revision,
    server,
    peer: { revision, info, capabilities },
    ...(hasSession !== undefined && { hasSession }),
    ...(takesHeaders !== undefined && { takesHeaders }),
    ...(can.ping && { ping: () => ask(warmMethods.ping, {}) }),
    ...(can.setLogLevel && { setLogLevel: (level) => ask(warmMethods.logLevel, { level }) }),
    ...(can.tell && { tell: (method, params) => void rpc.notify(warmMethods.tell, { method, params }) }),
  };
}

function createRemoteService(rpc: RpcPeer): Service {
  const service = async (call: Call): Promise<Outcome> => {
    const { method, params, meta, wantsProgress, logLevel, answers, state, headers, tasks, maxBytes } = call;
    const sent: CallParams = {
      method,
      params,
      meta,
      wantsProgress,
      logLevel,
      answers,
      state,
      headers,
      tasks,
      maxBytes,
    };
    const how: RequestOptions = {
      onNotification: ({ params: told }: Notification) => {
        call.notify(told.method as string, told.params as JsonObject);
      },
      onAbort: (listener) => onAbort(call, listener),
    };
    const reply = await rpc.request(warmMethods.call, () => sent as unknown as JsonObject, how);
    return reply.kind === "success"
      ? (reply.result as unknown as Outcome)
      : { kind: "failed", failure: failureOf(reply, plain, method) };
  };
  return service as Service;
}

/** Failures of servers are values here; an error of JSON-RPC is one of the background process. */
const plain: Parameters<typeof failureOf>[1] = {
  decodeFailure: ({ message }) => ({ code: "internal", message }),
};
