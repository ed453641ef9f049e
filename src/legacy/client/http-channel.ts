import { encodeMessage, type Message, type Notification, type Request } from "../../jsonrpc/message.ts";
import { McpError } from "../../protocol/errors.ts";
import { createDeadlines } from "../../std/deadlines.ts";
import { networkError } from "../../transport/http/client/http-errors.ts";
import { createLingering } from "../../transport/http/client/read-response.ts";
import type { HttpChannel, HttpChannelOptions } from "../../transport/legacy-client.ts";
import { maskError } from "../../transport/send-call.ts";
import {
  createPendingRequests,
  endSession,
  type HttpParts,
  type LegacyContext,
  type MessageSender,
  type Pending,
  reporting,
  sessionOf,
} from "./http-context.ts";
import { createTeller, perform } from "./http-requests.ts";
import { createServerStream } from "./http-streams.ts";
import { createInbox } from "./inbox.ts";
import { createHold, createRenewal } from "./session-renewal.ts";

/**
 * Speaks JSON-RPC over HTTP with a server that has sessions, one message to a POST.
 *
 * What is sent goes out in the background; what comes back is in `incoming`, where a request that gets no answer is
 * `undelivered`. Everything belongs to the session that `initialize` opens. Reading ends with `close` only.
 */
export function createHttpChannel(options: HttpChannelOptions): HttpChannel {
  const inbox = createInbox();
  let lastStatus: number | undefined;
  const parts = partsOf(options, inbox, (method, status) => {
    if (method === "initialize") lastStatus = status;
  });
  const legacy: LegacySpeaker = createLegacySpeaker(parts);
  let closing: Promise<void> | undefined;

  const close = async (): Promise<void> => {
    inbox.end();
    parts.lingering.close();
    await legacy.close();
  };

  return {
    incoming: inbox.incoming,
    mask: (error) => maskError(error, options.endpoint.mask),
    get lastStatus() {
      return lastStatus;
    },
    get hasSession() {
      return legacy.hasSession;
    },
    onRenewal: legacy.onRenewal,
    listening: legacy.listening,
    send(message) {
      if (closing === undefined) legacy.send(message);
      return undefined;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function partsOf(options: HttpChannelOptions, inbox: HttpParts["inbox"], answered: HttpParts["answered"]): HttpParts {
  const { endpoint, clock, warn, timeoutMs, limits, random = Math.random } = options;
  const deadlines = createDeadlines(clock);
  return {
    endpoint,
    inbox,
    limits,
    clock,
    deadlines,
    lingering: createLingering(deadlines),
    warn,
    random,
    timeoutMs,
    answered,
  };
}

interface LegacySpeaker extends MessageSender {
  readonly hasSession: boolean;
  /** What to do when the server has lost the session and a new one was opened. */
  onRenewal(restore: () => void): void;
  /** Resolves when what the server says by itself can arrive. */
  readonly listening: Promise<void>;
}

/**
 * Speaks the revisions with sessions: everything is POSTed, answers come with the
 * POST or over a stream that may break and go on, and the server speaks up by
 * itself on a stream of its own.
 */
function createLegacySpeaker(parts: HttpParts): LegacySpeaker {
  const pendings = createPendingRequests();
  const hold = createHold();

  const put: LegacyContext["put"] = (messages) => (messages.length === 0 ? undefined : parts.inbox.put(messages));
  const context: LegacyContext = {
    parts,
    session: {},
    closed: false,
    put,
    settle: (pending, outcome) => void put(pendings.settle(pending, outcome)),
    route: (messages, about) => put(messages.flatMap((message) => pendings.sort(message, about))),
    renew: (lost) => renewal.renew(lost),
  };

  const run = (pending: Pending): void => {
    if (pending.over) return;
    pending.started = true;
    perform(pending, context).catch((error: unknown) => {
      context.settle(pending, networkError(parts.endpoint.url, error));
    });
  };
  const teller = createTeller(context);
  const stream = createServerStream(context);
  const renewal = createRenewal({ context, pendings, hold, teller, stream, run });

  /** Whoever opens the session hears of it when everything else is ready to use it. */
  const adopting = (request: Request): Pending["report"] => {
    const report = reporting(request.id);
    return (outcome, head) => {
      if (head === undefined || outcome instanceof McpError || outcome.kind === "failure") return report(outcome);
      const session = sessionOf(head, outcome.result);
      if (session instanceof McpError) return report(session);
      context.session = session;
      renewal.remember(request);
      return report(outcome);
    };
  };

  let announce = (): void => {};
  const listening = new Promise<void>((resolve) => {
    announce = resolve;
  });

  /** No call goes out before the stream is open: what the server says about it might be lost. */
  const initialized = async (message: Notification, body: string): Promise<void> => {
    hold.start();
    await teller.tell(message, body);
    await stream.open();
    announce();
    hold.release();
  };

  const cancel = async (message: Notification, body: string): Promise<void> => {
    const pending = pendings.get(message.params.requestId);
    if (pending === undefined) return;
    const { started } = pending;
    pendings.giveUp(pending);
    if (started) await teller.tell(message, body);
    pending.abort.abort("cancelled");
  };

  const send = (message: Message, body: string): void => {
    if (message.kind === "request") {
      const isInitialize = message.method === "initialize";
      const pending = isInitialize ? pendings.add(message, body, adopting(message)) : pendings.add(message, body);
      hold.run(() => run(pending));
    } else if (message.kind === "notification" && message.method === "notifications/initialized") {
      void initialized(message, body);
    } else if (message.kind === "notification" && message.method === "notifications/cancelled") {
      void cancel(message, body);
    } else {
      hold.run(() => void teller.tell(message, body));
    }
  };

  return {
    get hasSession() {
      return context.session.id !== undefined;
    },
    send: (message) => send(message, encodeMessage(message)),
    onRenewal: renewal.onRenewal,
    listening,
    async close() {
      context.closed = true;
      hold.close();
      stream.close();
      teller.close();
      pendings.close();
      await endSession(context.session, parts);
    },
  };
}
