import { McpError } from "../protocol/errors.ts";
import type { Outcome } from "../protocol/service.ts";
import type { Clock } from "../std/clock.ts";

/** When calls to a server that does not answer are not tried any more. */
export interface BreakerOptions {
  /** After so many calls in a row without an answer. Default 5; 0 is off. */
  readonly maxFailures?: number | undefined;
  /** For so long; then one call is tried. Default 10 s. */
  readonly pauseMs?: number | undefined;
}

/** The circuit breakers of the servers of a gateway. */
export interface CircuitBreakers {
  /** Makes a call, unless calls to its server are paused: then it is refused with `connection-closed`, and was not sent. */
  run<O extends Outcome>(server: string, call: () => Promise<O>): Promise<O>;
  /** For how long calls to a server are refused. Undefined when they are tried. */
  pausedMs(server: string): number | undefined;
}

interface Breaker {
  failures: number;
  /** When a call is tried again. */
  retryAt: number;
  isTrying: boolean;
}

/** Counts calls in a row that a server has not answered. What it answers, errors too, closes the circuit. */
export function createCircuitBreakers(options: BreakerOptions, clock: Clock): CircuitBreakers {
  const { maxFailures = 5, pauseMs = 10_000 } = options;
  const breakers = new Map<string, Breaker>();
  const isOff = maxFailures === 0 || maxFailures === Number.POSITIVE_INFINITY;

  const failed = (server: string): void => {
    const breaker = breakers.get(server) ?? { failures: 0, retryAt: 0, isTrying: false };
    breaker.failures++;
    if (breaker.failures >= maxFailures) breaker.retryAt = clock.now() + pauseMs;
    breakers.set(server, breaker);
  };

  const pausedMs = (server: string): number | undefined => {
    const breaker = breakers.get(server);
    if (breaker === undefined || breaker.failures < maxFailures) return undefined;
    const left = breaker.retryAt - clock.now();
    return left > 0 || breaker.isTrying ? Math.max(left, 1) : undefined;
  };

  const attempt = async <O extends Outcome>(server: string, call: () => Promise<O>): Promise<O> => {
    try {
      const outcome = await call();
      if (outcome.kind === "failed" && isSilence(outcome.failure)) failed(server);
      else breakers.delete(server);
      return outcome;
    } catch (error) {
      if (error instanceof McpError && isSilence(error)) failed(server);
      else if (!isOwnDecision(error)) breakers.delete(server);
      throw error;
    }
  };

  return {
    run(server, call) {
      if (isOff) return call();
      const breaker = breakers.get(server);
      if (breaker === undefined || breaker.failures < maxFailures) return attempt(server, call);
      const waitMs = pausedMs(server);
      if (waitMs !== undefined) return Promise.reject(paused(server, breaker.failures, waitMs));
      breaker.isTrying = true;
      return attempt(server, call).finally(() => {
        breaker.isTrying = false;
      });
    },
    pausedMs,
  };
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

function paused(server: string, failures: number, waitMs: number): McpError {
  const retryAfterMs = Math.ceil(waitMs);
  const message = `server ${server} has not answered ${failures} calls in a row: none is sent to it for ${retryAfterMs} ms; retry then`;
  return new McpError("connection-closed", message, { data: { server, retryAfterMs, isSafeToRetry: true } });
}
