import { encodeMessage, type Message, type Notification, type Request } from "../../../jsonrpc/message.ts";
import { McpError } from "../../../model/errors.ts";
import { createHold } from "./hold.ts";
import { networkError } from "./http-errors.ts";
import type { LegacyContext } from "./legacy-context.ts";
import { perform } from "./legacy-request.ts";
import { createTeller } from "./legacy-tell.ts";
import type { HttpParts, Speaker } from "./parts.ts";
import { createPendingRequests, type Pending, reporting } from "./pending.ts";
import { createRenewal } from "./renewal.ts";
import { createServerStream } from "./server-stream.ts";
import { endSession, sessionOf } from "./session.ts";

export interface LegacySpeaker extends Speaker {
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
export function createLegacySpeaker(parts: HttpParts): LegacySpeaker {
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

  const initialized = async (message: Notification, body: string): Promise<void> => {
    hold.start();
    await teller.tell(message, body);
    stream.open();
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
      const isHello = message.method === "initialize";
      const pending = isHello ? pendings.add(message, body, adopting(message)) : pendings.add(message, body);
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
    send: (message) => send(message, encodeMessage(message)),
    onRenewal: renewal.onRenewal,
    listening: stream.ready,
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
