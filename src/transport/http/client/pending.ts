import {
  type Id,
  type Incoming,
  isId,
  type Malformed,
  type Message,
  type Notification,
  type Request,
  type Response,
} from "../../../jsonrpc/message.ts";
import { McpError } from "../../../model/errors.ts";
import { IdTable } from "../../../std/id-table.ts";
import { LazyAbort } from "../../../std/lazy-abort.ts";
import type { IncomingResponse } from "../http-send.ts";

/** How a request ended. */
export type Settlement = Response | McpError;

/** A request on its way. */
export interface Pending {
  readonly request: Request;
  readonly body: string;
  readonly abort: LazyAbort;
  /** The head of the answer, as soon as there is one. */
  head: IncomingResponse | undefined;
  /** True once it goes out. */
  started: boolean;
  /** True once it was answered, failed or given up. */
  over: boolean;
  /** Makes of its end what is to be told. */
  readonly report: (outcome: Settlement, head: IncomingResponse | undefined) => readonly Incoming[];
}

/** The requests of a session that are not over. */
export interface PendingRequests {
  add(request: Request, body: string, report?: Pending["report"]): Pending;
  get(id: unknown): Pending | undefined;
  /** Ends a request and returns what is to be told of it: nothing when it was over. */
  settle(pending: Pending, outcome: Settlement): readonly Incoming[];
  /** Returns what is to be told of a message: ends the request that it answers. */
  sort(message: Message | Malformed, about: Id | undefined): readonly Incoming[];
  /** Ends a request that nobody wants answered any more. */
  giveUp(pending: Pending): void;
  /** Gives up everything, and lets go of it. */
  close(): void;
}

export function createPendingRequests(): PendingRequests {
  const open = new IdTable<Pending>();

  const settle: PendingRequests["settle"] = (pending, outcome) => {
    if (pending.over) return [];
    pending.over = true;
    open.take(pending.request.id);
    return pending.report(outcome, pending.head);
  };

  return {
    add(request, body, report = reporting(request.id)) {
      const pending: Pending = {
        request,
        body,
        abort: new LazyAbort(),
        head: undefined,
        started: false,
        over: false,
        report,
      };
      open.add(request.id, pending);
      return pending;
    },
    get: (id) => (isId(id) ? open.get(id) : undefined),
    settle,
    sort(message, about) {
      if (message.kind === "notification") return [aboutCall(message, about)];
      if (message.kind === "request") return [message];
      const pending = message.id === null ? undefined : open.get(message.id);
      if (pending === undefined || (message.kind === "malformed" && message.answerable)) return [message];
      return settle(pending, message.kind === "malformed" ? broken(pending, message) : message);
    },
    giveUp(pending) {
      pending.over = true;
      open.take(pending.request.id);
    },
    close() {
      for (const pending of open.clear()) {
        pending.over = true;
        pending.abort.abort("closed");
      }
    },
  };
}

/** How whoever sent a request hears of its end. */
export function reporting(id: Id): (outcome: Settlement) => readonly Incoming[] {
  return (outcome) => [outcome instanceof McpError ? { kind: "undelivered", id, cause: outcome } : outcome];
}

/** Which call a notification is for, as far as its stream tells. Changes are announced on any stream, for everybody. */
function aboutCall(notification: Notification, about: Id | undefined): Notification {
  return about !== undefined && ofCalls.has(notification.method) ? { ...notification, about } : notification;
}

const ofCalls: ReadonlySet<string> = new Set(["notifications/progress", "notifications/message"]);

function broken({ request }: Pending, { error }: Malformed): McpError {
  return new McpError("invalid-response", `the answer to ${request.method} is broken: ${error.message}`);
}
