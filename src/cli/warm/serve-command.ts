import type { Socket } from "node:net";
import { isObject, type JsonObject } from "../../json/json.ts";
import { createPeer } from "../../jsonrpc/create-peer.ts";
import type { IncomingRequest } from "../../jsonrpc/inbound.ts";
import { rpcCodes } from "../../jsonrpc/message.ts";
import type { RpcPeer } from "../../jsonrpc/peer.ts";
import type { Connection } from "../../protocol/connection.ts";
import { type Failure, McpError, toError, toFailure } from "../../protocol/errors.ts";
import type { QuestionAnswer } from "../../protocol/input.ts";
import type { ClientInfo } from "../../protocol/peer.ts";
import { createCall, type Outcome } from "../../protocol/service.ts";
import { lineChannel } from "../../transport/node/line-channel.ts";
import type { Borrower } from "./kept-connections.ts";
import { type CallParams, type Done, type OpenParams, type OpenResult, warmLimits, warmMethods } from "./messages.ts";

/** What a background process does for the commands that connect to it. */
export interface Background {
  /** Connects a command to the target. Undefined when the background process is none for it, and ends. */
  open(params: OpenParams, borrower: Borrower): Promise<Connection | undefined>;
  /** Hears that a command calls. */
  used(): void;
  status(): object;
  /** Ends everything that is kept. The process ends when that is answered. */
  stop(): Promise<void>;
  /** Ends the process. */
  end(): void;
}

/** Serves one command until it hangs up. */
export function serveCommand(socket: Socket, background: Background): Pick<RpcPeer, "close"> {
  const gone = new AbortController();
  let line: Connection | undefined;
  let client: ClientInfo | undefined;

  const open = async (params: OpenParams): Promise<OpenResult> => {
    try {
      line = await background.open(params, createBorrower(params, rpc, gone.signal));
    } catch (error) {
      return { kind: "failed", failure: failureOf(error) };
    }
    if (line === undefined) return { kind: "retired" };
    const { revision, server, hasSession, takesHeaders, ping, setLogLevel, tell } = line;
    client = { revision, info: params.info, capabilities: params.capabilities };
    const can = { ping: ping !== undefined, setLogLevel: setLogLevel !== undefined, tell: tell !== undefined };
    return { kind: "opened", revision, server, hasSession, takesHeaders, can };
  };

  const answers: Readonly<Record<string, (exchange: IncomingRequest) => Promise<object>>> = {
    [warmMethods.open]: ({ request }) => open(request.params as unknown as OpenParams),
    [warmMethods.call](exchange) {
      background.used();
      return call(exchange, line, client);
    },
    [warmMethods.ping]: () => done(async () => line?.ping?.()),
    [warmMethods.logLevel]: ({ request }) =>
      done(async () =>
        line?.setLogLevel?.(request.params.level as Parameters<NonNullable<Connection["setLogLevel"]>>[0]),
      ),
    [warmMethods.status]: async () => background.status(),
    [warmMethods.stop]: async () => {
      await background.stop();
      setImmediate(() => background.end());
      return {};
    },
  };

  const answer = async (exchange: IncomingRequest): Promise<void> => {
    const { method } = exchange.request;
    const given = Object.hasOwn(answers, method) ? answers[method] : undefined;
    if (given === undefined) exchange.fail({ code: rpcCodes.methodNotFound, message: `unknown method ${method}` });
    else await answerBy(given, exchange);
  };

  const rpc = createPeer(
    lineChannel(socket, socket, { limits: warmLimits }),
    {
      onRequest: (exchange) => void answer(exchange),
      onNotification({ method, params }) {
        if (method === warmMethods.tell && typeof params.method === "string" && isObject(params.params))
          line?.tell?.(params.method, params.params);
      },
      onEnd: () => gone.abort(),
    },
    { maxOpenRequests: 0, maxOpen: 0, drainMs: 0, answerUnreadable: false },
  );
  void rpc.run();
  return rpc;
}

/** What goes wrong in here must not end what others use. */
async function answerBy(
  given: (exchange: IncomingRequest) => Promise<object>,
  exchange: IncomingRequest,
): Promise<void> {
  try {
    exchange.succeed((await given(exchange)) as JsonObject);
  } catch (error) {
    exchange.fail({ code: rpcCodes.internal, message: failureOf(error).message });
  }
}

/** Hands a call to the server. It ends when the command cancels it, or is gone. */
async function call(
  exchange: IncomingRequest,
  line: Connection | undefined,
  peer: ClientInfo | undefined,
): Promise<Outcome> {
  if (line === undefined || peer === undefined) return { kind: "failed", failure: notOpen };
  const { request, abort } = exchange;
  const given = request.params as unknown as CallParams;
  try {
    const outcome = await line.service(
      createCall({
        ...given,
        peer,
        abort,
        notify: (method, params) => exchange.notify(warmMethods.notify, { call: request.id, method, params }),
      }),
    );
    return outcome.kind === "failed" || outcome.kind === "complete" ? { ...outcome, cause: undefined } : outcome;
  } catch (error) {
    return { kind: "failed", failure: failureOf(error) };
  }
}

const notOpen: Failure = { code: "connection-closed", message: "the command has not been connected to a server" };

async function done(work: () => Promise<void>): Promise<Done<null>> {
  try {
    await work();
    return { ok: true, value: null };
  } catch (error) {
    return { ok: false, failure: failureOf(error) };
  }
}

function failureOf(error: unknown): Failure {
  if (error instanceof McpError) return toFailure(error);
  return { code: "internal", message: error instanceof Error ? error.message : String(error) };
}

/** A command, as the connections see it. */
function createBorrower(params: OpenParams, rpc: RpcPeer, gone: AbortSignal): Borrower {
  const say = (method: string, said: JsonObject): void => void rpc.notify(method, said);
  const { info, capabilities, connectTimeoutMs, verbose } = params;
  return {
    info,
    capabilities,
    connectTimeoutMs,
    gone,
    async ask(question, signal) {
      const reply = await rpc.request(warmMethods.ask, () => ({ question }) as unknown as JsonObject, {
        onAbort(listener) {
          signal.addEventListener("abort", listener, { once: true });
          return () => signal.removeEventListener("abort", listener);
        },
      });
      if (reply.kind !== "success") throw new McpError("cancelled", "the command that was asked is gone");
      const answered = reply.result as unknown as Done<QuestionAnswer>;
      if (answered.ok) return answered.value;
      throw toError(answered.failure);
    },
    told: (method, told) => say(warmMethods.told, { method, params: told }),
    stderr: (text) => verbose && say(warmMethods.stderr, { text }),
    warn: (message) => verbose && say(warmMethods.warning, { message }),
    ended: (failure) => say(warmMethods.ended, { failure: failure as unknown as JsonObject }),
  };
}
