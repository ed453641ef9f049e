import { encodeMessage, type Incoming, type Notification, type Request } from "../../jsonrpc/message.ts";
import { decodeFailure } from "../../protocol/codec/decode-failure.ts";
import { McpError, toError } from "../../protocol/errors.ts";
import type { IncomingResponse } from "../../transport/http/http-message.ts";
import {
  type HttpSession,
  type LegacyContext,
  type Pending,
  type PendingRequests,
  type Settlement,
  sessionOf,
} from "./http-context.ts";
import type { Teller } from "./http-requests.ts";
import type { ServerStream } from "./http-streams.ts";

/** Opens sessions in place of those that a server has lost. */
interface Renewal {
  /** How the session was opened, so that it can be done again. */
  remember(initialize: Request): void;
  /** All requests that have lost the same session wait for the same new one. Rejects with an `McpError`. */
  renew(lost: HttpSession): Promise<void>;
  /** What to do after a new session was opened. */
  onRenewal(restore: () => void): void;
}

interface RenewalParts {
  readonly context: LegacyContext;
  readonly pendings: PendingRequests;
  readonly hold: TaskQueueGate;
  readonly teller: Teller;
  readonly stream: ServerStream;
  run(pending: Pending): void;
}

export function createRenewal({ context, pendings, hold, teller, stream, run }: RenewalParts): Renewal {
  let initialize: Request | undefined;
  let restore = (): void => {};
  let renewing: Promise<void> | undefined;
  let count = 0;

  /** Sends `initialize` again as it was sent before, in no session. */
  const initializeAgain = (request: Request, version: string | undefined): Promise<HttpSession> =>
    new Promise((resolve, reject) => {
      const report = (outcome: Settlement, head: IncomingResponse | undefined): readonly Incoming[] => {
        try {
          resolve(agreed(outcome, head, version));
        } catch (error) {
          reject(error);
        }
        return [];
      };
      run(pendings.add(request, encodeMessage(request), report));
    });

  const reopen = async (lost: HttpSession): Promise<void> => {
    if (initialize === undefined) throw new McpError("connection-closed", "there is no session");
    hold.start();
    stream.close();
    try {
      context.session = await initializeAgain({ ...initialize, id: `session-${++count}` }, lost.version);
      await teller.tell(initialized, encodeMessage(initialized));
      await stream.open();
    } catch (cause) {
      throw notRenewed(cause);
    } finally {
      hold.release();
    }
    restore();
  };

  return {
    remember(request) {
      initialize = request;
    },
    renew(lost) {
      if (context.session !== lost) return renewing ?? Promise.resolve();
      renewing ??= reopen(lost).finally(() => {
        renewing = undefined;
      });
      return renewing;
    },
    onRenewal(next) {
      restore = next;
    },
  };
}

const initialized: Notification = { kind: "notification", method: "notifications/initialized", params: {} };

/** The new session. What was agreed before has to hold in it too, for everything here was made for that. */
function agreed(outcome: Settlement, head: IncomingResponse | undefined, version: string | undefined): HttpSession {
  if (outcome instanceof McpError) throw outcome;
  if (outcome.kind === "failure") throw toError(decodeFailure(outcome.error, "initialize"));
  if (head === undefined) throw new McpError("invalid-response", "there is no answer to initialize");
  const session = sessionOf(head, outcome.result);
  if (session instanceof McpError) throw session;
  if (session.version === version) return session;
  throw new McpError("unsupported-revision", `it now speaks ${session.version}, and ${version} was agreed`);
}

function notRenewed(cause: unknown): McpError {
  const { code, message, data } =
    cause instanceof McpError ? cause : new McpError("connection-closed", "the connection failed");
  const text = `the server has lost the session, and no other could be opened: ${message}`;
  return new McpError(code, text, { cause, ...(data !== undefined && { data }) });
}

/** Keeps what is to be done until it may be done. */
interface TaskQueueGate {
  /** Runs the task now, or in its turn when the hold is released. */
  run(task: () => void): void;
  /** From now on, tasks wait. */
  start(): void;
  release(): void;
  /** Drops what waits. */
  close(): void;
}

export function createHold(): TaskQueueGate {
  let waiting: (() => void)[] | undefined;

  return {
    run(task) {
      if (waiting === undefined) task();
      else waiting.push(task);
    },
    start() {
      waiting ??= [];
    },
    release() {
      const tasks = waiting ?? [];
      waiting = undefined;
      for (const task of tasks) task();
    },
    close() {
      waiting = undefined;
    },
  };
}
