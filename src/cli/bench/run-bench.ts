import type { Client } from "../../client/client.ts";
import type { JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Clock } from "../../std/clock.ts";
import { createLatencies, type Latencies } from "./latencies.ts";

export interface BenchOptions {
  readonly tool: string;
  readonly input: JsonObject;
  /** Calls at the same time. */
  readonly concurrency: number;
  /** No call begins after so many, or after that time, whichever comes first. */
  readonly maxCalls: number;
  readonly maxMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Hears after every call how many there were. */
  onCall(count: number, elapsedMs: number): void;
}

export interface BenchResult {
  readonly latencies: Latencies;
  readonly elapsedMs: number;
  /** Failed calls, by error code. `tool-error` is a result with `isError`. */
  readonly failures: ReadonlyMap<string, number>;
  /** What the first failed call said. */
  readonly firstFailure: string | undefined;
}

/** Calls a tool again and again. Ends early when the connection is gone, and when the signal aborts. */
export async function runBench(client: Client, options: BenchOptions): Promise<BenchResult> {
  const { tool, input, concurrency, maxCalls, maxMs, clock, signal, onCall } = options;
  const latencies = createLatencies();
  const failures = new Map<string, number>();
  let [begun, isLost] = [0, false];
  let firstFailure: string | undefined;
  const start = clock.now();

  const failed = (code: string, message: string): void => {
    failures.set(code, (failures.get(code) ?? 0) + 1);
    firstFailure ??= message;
    isLost ||= code === "connection-closed" || code === "unauthorized";
  };

  const callOnce = async (): Promise<void> => {
    const before = clock.now();
    try {
      const { isError, content } = await client.callTool(tool, input, { signal });
      if (isError) failed("tool-error", content.map((block) => (block.type === "text" ? block.text : "")).join(" "));
    } catch (error) {
      if (signal.aborted) return;
      failed(error instanceof McpError ? error.code : "internal", error instanceof Error ? error.message : "");
    }
    const now = clock.now();
    latencies.add(now - before);
    onCall(latencies.count, now - start);
  };

  const isOver = (): boolean => signal.aborted || isLost || begun >= maxCalls || clock.now() - start >= maxMs;
  const callAgain = async (): Promise<void> => {
    while (!isOver()) {
      begun++;
      await callOnce();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, callAgain));
  return { latencies, elapsedMs: clock.now() - start, failures, firstFailure };
}
