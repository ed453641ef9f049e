import { McpError, toError } from "../protocol/errors.ts";
import { markUnsent } from "../protocol/safe-to-retry.ts";
import type { Outcome } from "../protocol/service.ts";
import type { Clock } from "../std/clock.ts";

/** When calls to a server that does not answer are not tried any more. */
export interface BreakerOptions {
  /** After so many calls in a row without an answer. Default 5; 0 is off. */
  readonly maxFailures?: number | undefined;
  /** For so long; then one call is tried. Default 10 s. */
  readonly pauseMs?: number | undefined;
}

/** The connection that a call is sent over: the one to a server that all callers share, or that of one caller. */
export interface Circuit {
  readonly server: string;
  /** Whose connection it is. Undefined for the shared one. */
  readonly owner?: string | undefined;
}

/** The circuit breakers of the connections of a gateway. */
export interface CircuitBreakers {
  /** Makes a call, unless calls over its connection are paused: then it is refused with `connection-closed`, and was not sent. */
  run<O extends Outcome>(circuit: Circuit, call: () => Promise<O>): Promise<O>;
  /** For how long calls over the shared connection to a server are refused. Undefined when they are tried. */
  pausedMs(server: string): number | undefined;
  /** Forgets a server that was replaced or removed. */
  forget(server: string): void;
}

interface Breaker {
  readonly server: string;
  failures: number;
  /** When a call is tried again. */
  retryAt: number;
  isTrying: boolean;
}

/** So many connections without an answer are remembered: more have failed longer ago. */
const MAX_BREAKERS = 1_024;

/** Counts calls in a row that a server has not answered. What it answers, errors too, closes the circuit. */
export function createCircuitBreakers(options: BreakerOptions, clock: Clock): CircuitBreakers {
  const { maxFailures = 5, pauseMs = 10_000 } = options;
  const breakers = new Map<string, Breaker>();
  const isOff = maxFailures === 0 || maxFailures === Number.POSITIVE_INFINITY;

  const failed = (circuit: Circuit): void => {
    const key = keyOf(circuit);
    const { server } = circuit;
    const breaker = breakers.get(key) ?? { server, failures: 0, retryAt: 0, isTrying: false };
    breaker.failures++;
    if (breaker.failures >= maxFailures) breaker.retryAt = clock.now() + pauseMs;
    breakers.delete(key);
    breakers.set(key, breaker);
    const [oldest = key] = breakers.keys();
    if (breakers.size > MAX_BREAKERS) breakers.delete(oldest);
  };

  const pausedMs = (circuit: Circuit): number | undefined => {
    const breaker = breakers.get(keyOf(circuit));
    if (breaker === undefined || breaker.failures < maxFailures) return undefined;
    const left = Math.ceil(breaker.retryAt - clock.now());
    return left > 0 || breaker.isTrying ? Math.max(left, 1) : undefined;
  };

  const attempt = async <O extends Outcome>(circuit: Circuit, call: () => Promise<O>): Promise<O> => {
    try {
      const outcome = await call();
      if (outcome.kind === "failed" && isSilence(outcome.failure)) failed(circuit);
      else breakers.delete(keyOf(circuit));
      return outcome;
    } catch (error) {
      if (error instanceof McpError && isSilence(error)) failed(circuit);
      else if (!isOwnDecision(error)) breakers.delete(keyOf(circuit));
      throw error;
    }
  };

  return {
    run(circuit, call) {
      if (isOff) return call();
      const breaker = breakers.get(keyOf(circuit));
      if (breaker === undefined || breaker.failures < maxFailures) return attempt(circuit, call);
      const waitMs = pausedMs(circuit);
      if (waitMs !== undefined) return Promise.reject(paused(circuit.server, breaker.failures, waitMs));
      breaker.isTrying = true;
      return attempt(circuit, call).finally(() => {
        breaker.isTrying = false;
      });
    },
    pausedMs: (server) => pausedMs({ server }),
    forget(server) {
      for (const [key, breaker] of breakers) if (breaker.server === server) breakers.delete(key);
    },
  };
}

/** Names of servers have no line breaks. */
function keyOf({ server, owner }: Circuit): string {
  return owner === undefined ? server : `${server}\n${owner}`;
}

/** True when a server was asked and has said nothing. */
function isSilence({ code }: { readonly code: string }): boolean {
  return code === "connection-closed" || code === "timeout" || code === "http-error";
}

/** True for calls of which the server has not heard, and those that their caller has given up. */
function isOwnDecision(error: unknown): boolean {
  return (
    error instanceof McpError &&
    (error.code === "cancelled" || error.code === "limit-reached" || error.code === "denied")
  );
}

function paused(server: string, failures: number, retryAfterMs: number): McpError {
  const message = `server ${server} has not answered ${failures} calls in a row: none is sent to it for ${retryAfterMs} ms; retry then`;
  return toError(markUnsent({ code: "connection-closed", message, data: { server, retryAfterMs } }));
}
