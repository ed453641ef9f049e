import type { ClientConnection } from "../connect/create-connect.ts";
import { type ErrorCode, McpError, toError } from "../protocol/errors.ts";
import { isAtLeast, isLogLevel, type LogLevel } from "../protocol/logging.ts";
import type { Method } from "../protocol/methods.ts";
import { isSafeToRetry } from "../protocol/safe-to-retry.ts";
import {
  type CallChanges,
  type CallOf,
  type Notify,
  type Outcome,
  type OutcomeOf,
  withCall,
} from "../protocol/service.ts";
import type { Clock } from "../std/clock.ts";
import { holding } from "../std/hold.ts";
import type { ServerSlot } from "./server-slot.ts";

/** What a caller can give up. Read the signal only when something has to wait: making one is dear. */
export interface Abortable {
  readonly signal: AbortSignal | undefined;
}

/** A call to a server, however often it has to be sent. */
export interface Sending<R> extends Abortable {
  readonly slot: ServerSlot;
  /** The connection to send it over, once it may be sent. `isAgain` when it was sent before. */
  open(isAgain: boolean): Promise<ClientConnection>;
  /** Sends it. Rejects with `connection-closed` when the connection does not survive. */
  over(line: ClientConnection): Promise<R>;
  /** Whether sending it twice is the same as sending it once. */
  isRepeatable(): boolean | Promise<boolean>;
}

/** Sends calls to servers whose connections may break at any time. */
export interface Delivery {
  /**
   * Sends a call. One that its server has not seen is sent to the next connection; one that may have been seen is sent
   * again only where that does no harm, and `retries` times at most. `line` is where to send it first, if that is known.
   */
  send<R>(sending: Sending<R>, line?: ClientConnection): Promise<R>;
}

interface DeliveryOptions {
  readonly retries: number;
  readonly clock: Clock;
}

export function createDelivery({ retries, clock }: DeliveryOptions): Delivery {
  /** Sends again what was lost, until it arrives or must not be sent any more. */
  const sendAgain = async <R>(sending: Sending<R>, first: ClientConnection | undefined, error: unknown): Promise<R> => {
    const { slot, signal } = sending;
    let line = first;
    let reason = error;
    for (let lost = 0, unseen = 0; isLoss(reason) && signal?.aborted !== true; ) {
      const isUnseen = isSafeToRetry(reason) && ++unseen <= maxUnseen;
      if (!isUnseen && (++lost > retries || !(await sending.isRepeatable()))) break;
      try {
        doubt(slot);
        await endOf(slot, line);
        line = await sending.open(true);
        return await slot.member.use(sending.over(line));
      } catch (again) {
        reason = again;
      }
    }
    if (isUnanswered(reason)) doubt(slot);
    throw reason;
  };

  const looked = <R>({ slot }: Sending<R>, result: R): R => {
    if (isUnansweredResult(result)) doubt(slot);
    return result;
  };

  /**
   * Waits for the end of a connection that a call was lost on. A program is about to be gone for everybody; over HTTP
   * only one request may have been lost.
   */
  const endOf = async ({ member }: ServerSlot, line: ClientConnection | undefined): Promise<void> => {
    if (line === undefined || member.line !== line) return;
    let stop = (): void => {};
    const soon = new Promise<void>((resolve) => {
      stop = clock.after(graceMs, resolve);
    });
    await holding(clock, Promise.race([line.connection.ended, soon]));
    stop();
  };

  return {
    send(sending, line) {
      const { slot } = sending;
      if (line !== undefined) {
        return slot.member.use(sending.over(line)).then(
          (result) => looked(sending, result),
          (error: unknown) => sendAgain(sending, line, error),
        );
      }
      let opened: ClientConnection | undefined;
      const sent = sending.open(false).then((given) => {
        opened = given;
        return slot.member.use(sending.over(given));
      });
      return sent.then(
        (result) => looked(sending, result),
        (error: unknown) => sendAgain(sending, opened, error),
      );
    },
  };
}

const graceMs = 100;

/** A server that dies whenever it is called is not called for ever. */
const maxUnseen = 5;

/** The connection that all share is no better than that of one caller. */
function doubt({ member, origin }: ServerSlot): void {
  member.doubt();
  origin?.member.doubt();
}

/** True for what happens to calls when their server is gone. A caller that waits in vain gives up. */
function isUnanswered(error: unknown): boolean {
  return error instanceof McpError && unanswered.has(error.code);
}

function isUnansweredResult(result: unknown): boolean {
  const outcome = result as Partial<Outcome> | undefined;
  return outcome?.kind === "failed" && outcome.failure !== undefined && unanswered.has(outcome.failure.code);
}

const unanswered: ReadonlySet<ErrorCode> = new Set(["connection-closed", "timeout", "cancelled", "http-error"]);

function isLoss(error: unknown): error is McpError {
  return error instanceof McpError && error.code === "connection-closed";
}

/**
 * Hands a call of a client on over a connection, with the changes that the server behind it needs. Rejects with
 * `connection-closed` when the connection does not survive.
 */
export function through<M extends Method>(
  line: ClientConnection,
  call: CallOf<M>,
  changes: CallChanges<M>,
): Promise<OutcomeOf<M>> {
  const { revision } = line.connection;
  const peer = { ...(changes.peer ?? call.peer), revision };
  const notify = wantedBy(call.logLevel, call.notify);
  return over(line, withCall(call, { ...changes, peer, http: undefined, notify }));
}

/** Sends a call over a connection as it is. Rejects like {@link through}. */
export async function over<M extends Method>({ connection }: ClientConnection, call: CallOf<M>): Promise<OutcomeOf<M>> {
  const outcome = await connection.service(call);
  if (outcome.kind === "failed" && outcome.failure.code === "connection-closed") throw toError(outcome.failure);
  return outcome;
}

/** Older servers log what they like: callers get what they asked for. */
export function wantedBy(logLevel: LogLevel | undefined, notify: Notify): Notify {
  return (method, params) => {
    const isUnwanted = method === "notifications/message" && !isWantedLog(params.level, logLevel);
    return isUnwanted ? undefined : notify(method, params);
  };
}

function isWantedLog(level: unknown, least: LogLevel | undefined): boolean {
  return least !== undefined && isLogLevel(level) && isAtLeast(level, least);
}
