import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

// The calls of the second principal while the first attacks, and the memory of the server: in a thread of its own, so
// that the work of attacking delays neither.

/** How long one call may take before it counts as lost. */
const CALL_TIMEOUT_MS = 20_000;
const PAUSE_MS = 10;
const MEMORY_INTERVAL_MS = 25;

/**
 * Watches a server. `call` is `{ url, headers, body, localAddress }`, a request that has to be answered with a result;
 * absent where nobody else can call. `pids` are those of the server.
 */
export function startWatcher({ call, pids }) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { call, pids } });
  worker.unref();
  const ask = (question) =>
    new Promise((resolve) => {
      worker.once("message", resolve);
      worker.postMessage(question);
    });
  return {
    /** Forgets what was seen, and resolves when `calls` new calls have been answered. */
    reset: (calls = 0) => ask({ reset: true, calls }),
    /** What was seen since: `{ count, failures, p99, before, peak }`; memory in bytes, times in ms. */
    read: () => ask({ reset: false }),
    stop: () => worker.terminate(),
  };
}

if (!isMainThread && workerData?.pids !== undefined) watch(workerData);

function watch({ call, pids }) {
  let seen = empty(pids);
  let wanted;
  const answer = () => {
    if (wanted === undefined || (call !== undefined && seen.times.length + seen.failures.length < wanted)) return;
    wanted = undefined;
    parentPort.postMessage(true);
  };
  parentPort.on("message", ({ reset, calls }) => {
    if (!reset) return parentPort.postMessage(summaryOf(seen));
    seen = empty(pids);
    wanted = calls;
    answer();
  });
  if (pids.length > 0) {
    setInterval(() => {
      seen.peak = Math.max(seen.peak, memoryOf(pids));
    }, MEMORY_INTERVAL_MS);
  }
  if (call !== undefined) void keepCalling();

  async function keepCalling() {
    const agent = new (call.url.startsWith("https:") ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1 });
    for (let n = 0; ; n++) {
      const into = seen;
      const start = performance.now();
      // Some calls take a connection of their own: whoever is there already is not to be the only one served.
      const failure = await once(call, n % 10 === 9 ? false : agent);
      if (failure === undefined) into.times.push(performance.now() - start);
      else into.failures.push(failure);
      answer();
      await pause(PAUSE_MS);
    }
  }
}

function empty(pids) {
  const before = memoryOf(pids);
  return { times: [], failures: [], before, peak: before };
}

function summaryOf({ times, failures, before, peak }) {
  const sorted = times.toSorted((a, b) => a - b);
  const p99 = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))];
  return { count: times.length, failures: failures.length, failure: failures[0], p99, before, peak };
}

/** Undefined when the call was answered with a result, else why not. */
function once({ url, headers, body, localAddress }, agent) {
  return new Promise((resolve) => {
    const target = new URL(url);
    const send = target.protocol === "https:" ? httpsRequest : httpRequest;
    const sent = send(target, { method: "POST", headers, agent, localAddress });
    const timer = setTimeout(() => {
      sent.destroy();
      resolve("no answer in time");
    }, CALL_TIMEOUT_MS);
    const done = (failure) => {
      clearTimeout(timer);
      resolve(failure);
    };
    sent.on("error", (error) => done(error.code ?? error.message));
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("error", (error) => done(error.code));
      response.on("end", () => {
        const isGood = response.statusCode === 200 && text.includes('"result"');
        done(isGood ? undefined : `HTTP ${response.statusCode}`);
      });
    });
    sent.end(body);
  });
}

/** Resident memory of processes, in bytes. One that is gone has none. */
export function memoryOf(pids) {
  return pids.reduce((sum, pid) => sum + memoryOfOne(pid), 0);
}

function memoryOfOne(pid) {
  try {
    if (process.platform === "linux") {
      const [, kilobytes = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      return Number(kilobytes) * 1024;
    }
    return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) * 1024;
  } catch {
    return 0;
  }
}
