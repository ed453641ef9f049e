import type { Line } from "../connect/create-connect.ts";
import { type Failure, McpError, toFailure } from "../model/errors.ts";
import type { Gate } from "../std/gate.ts";

export interface AttemptsOptions {
  readonly name: string;
  readonly gate: Gate;
  dial(signal: AbortSignal): Promise<Line>;
}

export interface AttemptsEvents {
  opened(line: Line): void;
  /** A connection that nobody wants any more. */
  tooLate(line: Line): void;
  failed(reason: Failure): void;
}

/** Tries to connect, one attempt at a time. */
export interface Attempts {
  /** Gives up the attempt under way, if there is one, and starts another. */
  start(): void;
  stop(): void;
}

export function createAttempts({ name, gate, dial }: AttemptsOptions, events: AttemptsEvents): Attempts {
  let current: AbortController | undefined;

  const stop = (): void => {
    current?.abort();
    current = undefined;
  };

  const run = async (mine: AbortController): Promise<void> => {
    if (mine.signal.aborted) return;
    try {
      const line = await dial(mine.signal);
      if (current !== mine) return events.tooLate(line);
      current = undefined;
      events.opened(line);
    } catch (error) {
      if (current !== mine) return;
      current = undefined;
      events.failed(toFailure(asMcpError(name, error)));
    }
  };

  return {
    start() {
      stop();
      const mine = new AbortController();
      current = mine;
      gate.run(() => run(mine));
    },
    stop,
  };
}

function asMcpError(name: string, error: unknown): McpError {
  if (error instanceof McpError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new McpError("internal", `cannot connect to server ${name}: ${message}`, { cause: error });
}
