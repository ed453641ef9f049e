import { McpError } from "../../protocol/errors.ts";
import { type Clock, systemClock } from "../../std/clock.ts";
import { watchFiles } from "../../std/node/watch-files.ts";
import type { ConfigEnvironment } from "../environment.ts";
import { type ConfigDiff, diffConfig } from "../explain-config.ts";
import type { ConfigInput } from "../inputs.ts";
import { formatConfigProblem } from "../problem.ts";
import type { Config } from "../resolve-config.ts";
import { type ConfigSource, type LoadConfigOptions, loadConfig, placesOf } from "./load-config.ts";

/** What there is to say of files that are watched. */
export type ConfigEvent =
  /** A configuration that differs from the last one, and the difference. The first event has no difference. */
  | { readonly type: "config"; readonly config: Config; readonly diff: ConfigDiff }
  /** The files are invalid at the moment. The last configuration stays in use. */
  | { readonly type: "failed"; readonly error: McpError };

export interface WatchConfigOptions extends LoadConfigOptions {
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
  /** How long files have to be left alone before they are read. Default: 100. */
  readonly settleMs?: number | undefined;
  /** How often files are looked at, should the system miss a change. Default: 2000. */
  readonly pollMs?: number | undefined;
  /** Whether to use change notifications of the file system. Default: true. */
  readonly notices?: boolean | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Reads configuration files, and reads them again whenever they change, env files
 * included. Begins with what there is. Ends with the signal, or when the loop is
 * left; until then the process stays alive.
 *
 * @example
 * for await (const event of watchConfig("mcp.json")) {
 *   if (event.type === "failed") console.error(event.error.message);
 *   else restart(event.diff);
 * }
 */
export async function* watchConfig(
  sources: ConfigSource | readonly ConfigSource[],
  options: WatchConfigOptions = {},
): AsyncGenerator<ConfigEvent, void, undefined> {
  const { signal, clock = systemClock, settleMs = 100, pollMs = 2_000, notices = true, ...load } = options;
  const watcher = watchFiles({ clock, settleMs, pollMs, notices });
  const release = clock.hold?.();
  const environment = { ...load, ...remembered(load) };
  let state: Known = { last: undefined, failure: undefined };
  try {
    const given = placesOf(sources, load).map(({ path }) => path);
    watcher.follow(given);
    while (!signal?.aborted) {
      const event = await readAll(sources, environment, state.last);
      const news = isChange(event, state);
      state = after(event, state);
      if (news) yield event;
      // A file that was not watched while it was read may have changed since.
      const used = state.last?.files.map(({ path }) => path) ?? [];
      if (!watcher.follow([...given, ...used])) await watcher.changed(signal);
    }
  } finally {
    watcher.close();
    release?.();
  }
}

interface Known {
  readonly last: Config | undefined;
  /** Why the files cannot be understood at the moment. */
  readonly failure: string | undefined;
}

async function readAll(
  sources: ConfigSource | readonly ConfigSource[],
  environment: ConfigEnvironment,
  last: Config | undefined,
): Promise<ConfigEvent> {
  try {
    const config = await loadConfig(sources, environment);
    return { type: "config", config, diff: diffConfig(last ?? { servers: [] }, config) };
  } catch (error) {
    if (error instanceof McpError) return { type: "failed", error };
    throw error;
  }
}

function after(event: ConfigEvent, { last }: Known): Known {
  if (event.type === "failed") return { last, failure: event.error.message };
  return { last: event.config, failure: undefined };
}

/** Whether anything differs from the last event. */
function isChange(event: ConfigEvent, { last, failure }: Known): boolean {
  if (event.type === "failed") return event.error.message !== failure;
  const { added, removed, changed } = event.diff;
  const differs = added.length + removed.length + changed.length > 0;
  return last === undefined || failure !== undefined || differs || problemsOf(last) !== problemsOf(event.config);
}

function problemsOf({ problems }: Config): string {
  return problems.map(formatConfigProblem).join("\n");
}

/** Answers to inputs are remembered, so that saving a file does not ask for them again. */
function remembered({ onInput }: ConfigEnvironment): Pick<ConfigEnvironment, "onInput"> {
  if (onInput === undefined) return {};
  const answers = new Map<string, string>();
  return {
    async onInput(input: ConfigInput) {
      const key = JSON.stringify([input.place.path, input.id]);
      const answer = answers.get(key) ?? (await onInput(input));
      if (answer !== undefined) answers.set(key, answer);
      return answer;
    },
  };
}
