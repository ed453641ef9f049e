import { startHttpServer } from "./stdio-child.mjs";
import { openTarget } from "./target.mjs";
import { gotThrough, notApplicable, notMeasured } from "./verdicts.mjs";
import { memoryOf, startWatcher } from "./watcher.mjs";
import { createWire } from "./wire.mjs";

const MB = 1_000_000;
/** Calls of the second principal before an attack. */
const CALLS_BEFORE = 40;
/** Below this, a call that is slow is the doing of the machine. */
const SLOW_MS = 1_000;
const SLOWER = 10;

/** Runs attacks on an HTTP server, and tells each result as soon as it is there. */
export async function runOverHttp(attacks, options, tell) {
  const server = options.command.length > 0 ? createStarter(options) : undefined;
  try {
    await server?.start();
    let opened = await openTarget(options);
    const results = [];
    for (const attack of attacks) {
      // What one attack left behind is not to be taken for the doing of the next.
      if (server !== undefined && (server.isGone() || attack.group === "memory")) {
        await server.restart();
        opened = await openTarget(options);
      }
      tell({ begins: attack });
      const start = performance.now();
      const verdict = await runOne(attack, opened, { ...options, pids: server?.pids() ?? options.pids });
      const result = { id: attack.id, group: attack.group, covers: attack.covers, title: attack.title, ...verdict };
      results.push({ ...result, ms: Math.round(performance.now() - start) });
      tell({ result: results.at(-1) });
    }
    return results;
  } finally {
    await server?.stop();
  }
}

/** A call that was slow once may be the doing of the machine, so the attack is made again. */
async function runOne(attack, opened, options) {
  const { isSlow, ...once } = await attempt(attack, opened, options);
  if (!isSlow) return once;
  const { isSlow: _, ...again } = await attempt(attack, opened, options);
  return again;
}

async function attempt(attack, opened, { pids, maxGrowth }) {
  const missing = attack.needs.find((need) => !opened.has.has(need));
  if (missing !== undefined) return notApplicable(whyNot(missing));
  const call = await opened.canary();
  if (call === undefined) return gotThrough("the second principal got no session before the attack began");
  const watcher = startWatcher({ call, pids });
  try {
    await watcher.reset(CALLS_BEFORE);
    const before = await watcher.read();
    if (before.failures > 0)
      return gotThrough(`before the attack, a call of the second principal got ${before.failure}`);
    await watcher.reset();
    const verdict = await attack.run(opened);
    // Who is blocked now is answered later, and counts.
    const seen = await afterwards(watcher);
    const verdictNow = (calm) => judged(verdict, { before: calm, seen, attack, pids, maxGrowth });
    const judgement = verdictNow(before);
    if (!judgement.isSlow) return judgement;
    // The machine may be busier now than it was before.
    await watcher.reset(CALLS_BEFORE);
    const { p99 } = await watcher.read();
    return verdictNow({ ...before, p99: Math.max(before.p99, p99) });
  } catch (error) {
    return gotThrough(`the attack could not be finished: ${error.message}`);
  } finally {
    await watcher.stop();
  }
}

/** What was seen until one more call was answered. */
async function afterwards(watcher) {
  const first = await watcher.read();
  for (let n = 0; n < 1_000; n++) {
    const now = await watcher.read();
    if (now.count + now.failures > first.count + first.failures) return now;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return { ...first, failures: first.failures + 1, failure: "no answer after the attack" };
}

function judged(verdict, { before, seen, attack, pids, maxGrowth }) {
  const growth = (seen.peak - seen.before) / MB;
  const canary = { calls: seen.count, failures: seen.failures, p99Before: round(before.p99), p99: round(seen.p99) };
  const measured = { ...verdict, canary, ...(pids.length > 0 && { growthMb: round(growth) }) };
  const worked = (why) => ({ ...measured, verdict: "got through", evidence: `${why}; ${verdict.evidence}` });
  if (pids.length > 0 && memoryOf(pids) === 0) return worked("the server ended");
  if (seen.failures > 0) return worked(`${seen.failures} calls of the second principal failed: ${seen.failure}`);
  if (verdict.verdict === "got through") return measured;
  if (attack.group === "memory" && growth > Math.max(maxGrowth, attack.maxGrowth ?? 0))
    return worked(`memory grew by ${Math.round(growth)} MB`);
  if (seen.p99 > SLOW_MS && seen.p99 > SLOWER * before.p99) {
    return {
      ...worked(`calls of the second principal took ${round(seen.p99)} ms, before ${round(before.p99)} ms`),
      isSlow: true,
    };
  }
  // Where nothing is measured, that a server took what was sent says nothing.
  if (attack.judgedBy === "memory" && pids.length === 0 && verdict.verdict === "held")
    return { ...measured, ...notMeasured(verdict.evidence) };
  return measured;
}

function round(ms) {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10;
}

const reasons = {
  sessions: "the server gives no sessions",
  modern: "the server does not speak 2026-07-28",
  legacy: "the server speaks no older revision",
  subscribe: "the server takes no subscriptions to resources",
  second: "needs --second-header",
  weak: "needs --weak-header",
  "second-url": "needs --second-url",
  credentials: "needs --header with credentials, and a server that refuses who has none",
};

function whyNot(need) {
  return reasons[need] ?? `needs --use ${need}=TOOL`;
}

/** Starts the program of the server, again where an attack is to find it fresh. */
function createStarter({ url, command, headers }) {
  const wire = createWire(url, { headers });
  let running;
  const start = async () => {
    running = await startHttpServer(command, wire);
  };
  return {
    start,
    stop: () => running?.stop(),
    async restart() {
      await running?.stop();
      await start();
    },
    isGone: () => running?.exit !== undefined,
    pids: () => (running === undefined ? [] : [running.pid]),
  };
}
