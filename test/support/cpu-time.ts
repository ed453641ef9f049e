import { readFileSync } from "node:fs";

/**
 * Begins to measure, and gives what reads it: milliseconds that this process has worked since.
 * The time that passes would also grow while others have the processor.
 */
export function startCpuTime(): () => number {
  const before = ofProcess();
  return () => ofProcess() - before;
}

/**
 * The same for this thread alone, where the system tells: what helpers of the engine do beside it holds nobody up.
 * Exact to some milliseconds.
 */
export function startThreadTime(): () => number {
  const read = process.platform === "linux" ? ofThread : ofProcess;
  const before = read();
  return () => read() - before;
}

/**
 * The least time that some work holds this thread up, of a few tries, in milliseconds of a machine that is
 * quick and has nothing else to do. Ends as soon as one is below the limit.
 */
export async function leastHeldUp(work: () => unknown, maxMs: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5 && least >= maxMs; tries++) {
    const slowness = Math.max(1, yardstick() / yardstickMs);
    const worked = startThreadTime();
    await work();
    least = Math.min(least, worked() / slowness);
  }
  return least;
}

/** What {@link yardstick} takes on a quick machine with nothing else to do. */
const yardstickMs = 40;

/** Some work that is always the same, of the kind that checks are made of: small objects, names, texts, numbers. */
function yardstick(): number {
  const worked = startThreadTime();
  const seen = new Map<string, number>();
  for (let round = 0; round < 12; round++) {
    for (let i = 0; i < 4_000; i++) {
      const text = JSON.stringify({ a: i, b: [String(round), i % 7] });
      seen.set(text, Object.keys(JSON.parse(text) as object).length);
    }
  }
  if (seen.size !== 48_000) throw new Error("the yardstick is wrong");
  return worked();
}

function ofProcess(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function ofThread(): number {
  const [nanoseconds] = readFileSync("/proc/thread-self/schedstat", "utf8").split(" ");
  return Number(nanoseconds) / 1_000_000;
}
