import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../../protocol/option-names.ts";
import type { Clock } from "../../std/clock.ts";
import type { Store } from "../../store/store.ts";
import type { HttpAnswer } from "./http-message.ts";

/** The health of a server for its operator: an orchestrator, a load balancer, a monitor. */
export interface HealthOptions {
  /** Says that the process is up, without asking anything else. Default `/healthz`. */
  readonly livePath?: string | undefined;
  /** Says whether calls can be served: asks the store of the server and every check. Default `/readyz`. */
  readonly readyPath?: string | undefined;
  /**
   * What else has to work, by name. A check fails that throws, rejects, gives `false` or takes too long. Names are public,
   * errors are not.
   */
  readonly checks?: Readonly<Record<string, () => unknown>> | undefined;
  /** How long the store and each check may take, all of them at once. Default 2 s. */
  readonly timeoutMs?: number | undefined;
}

const healthOptionNames: OptionNames<HealthOptions> = {
  livePath: true,
  readyPath: true,
  checks: true,
  timeoutMs: true,
};

interface HealthParts {
  /** The store that calls need. Absent where there is none but memory. */
  readonly store: (() => Promise<Store>) | undefined;
  readonly clock: Clock;
  isClosing(): boolean;
  /** Called when a check begins to fail, with the error. */
  warn(message: string): void;
}

export interface Health {
  readonly paths: readonly string[];
  /** Answers a request for one of the paths. Never rejects. */
  answer(path: string): Promise<HttpAnswer>;
}

type CheckResult = "ok" | "failed" | "timeout";
type CheckResults = Readonly<Record<string, CheckResult>>;

/** Throws `invalid-definition` for a bad option. */
export function createHealth(options: HealthOptions, { store, clock, isClosing, warn }: HealthParts): Health {
  checkOptionNames("health of serveHttp", options, healthOptionNames);
  const { livePath = "/healthz", readyPath = "/readyz", timeoutMs = 2_000 } = options;
  const checks = Object.entries({ ...(store !== undefined && { store: askStore(store) }), ...options.checks });
  for (const [name, check] of checks) if (typeof check !== "function") throw badCheck(name);
  const failing = new Set<string>();
  const open = new Map<string, Promise<string | undefined>>();
  let running: Promise<CheckResults> | undefined;

  /** Monitors ask often: the same failure is reported once. */
  const tell = (name: string, reason: string): void => {
    if (!failing.has(name)) warn(`check ${name} of health fails: ${reason}`);
    failing.add(name);
  };

  /** What a check comes to. One that still runs is not begun again. */
  const resultOf = (name: string, check: () => unknown): Promise<string | undefined> => {
    const known = open.get(name) ?? reasonItFails(check).finally(() => open.delete(name));
    open.set(name, known);
    return known;
  };

  const run = (name: string, check: () => unknown): Promise<CheckResult> =>
    new Promise((resolve) => {
      const stop = clock.after(timeoutMs, () => {
        tell(name, `it takes longer than ${timeoutMs} ms`);
        resolve("timeout");
      });
      void resultOf(name, check).then((reason) => {
        stop();
        if (reason === undefined) failing.delete(name);
        else tell(name, reason);
        resolve(reason === undefined ? "ok" : "failed");
      });
    });

  const runAll = async (): Promise<CheckResults> => {
    const results = await Promise.all(checks.map(async ([name, check]) => [name, await run(name, check)] as const));
    running = undefined;
    return Object.fromEntries(results);
  };

  return {
    paths: [livePath, readyPath],
    async answer(path) {
      if (isClosing()) return answerOf(503, { status: "closing" });
      if (path === livePath) return answerOf(200, { status: "ok" });
      // However many ask, what they depend on is asked once at a time.
      running ??= runAll();
      const results = await running;
      const isReady = Object.values(results).every((result) => result === "ok");
      return answerOf(isReady ? 200 : 503, { status: isReady ? "ok" : "failed", checks: results });
    },
  };
}

/** Reads a name that is never written: a response of the store is enough. */
function askStore(store: () => Promise<Store>): () => Promise<void> {
  return async () => {
    const { values } = await store();
    await values.get("health");
  };
}

/** Undefined when it does not. */
async function reasonItFails(check: () => unknown): Promise<string | undefined> {
  try {
    return (await check()) === false ? "it gives false" : undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

function badCheck(name: string): McpError {
  return new McpError("invalid-definition", `check ${name} of health must be a function that throws when it fails`, {
    data: { member: name },
  });
}

/** Errors of others may repeat addresses with passwords: what they are called says enough. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "it throws";
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? `${error.name} ${code}` : error.name;
}

function answerOf(status: number, body: object): HttpAnswer {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { status, headers, body: JSON.stringify(body) };
}
