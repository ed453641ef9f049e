import { canonicalText } from "../json/canonical.ts";
import { asJson } from "../json/json.ts";
import type { Config } from "./resolve-config.ts";
import type { ServerEntry } from "./server-entry.ts";

/** What is different between two configurations. */
export interface ConfigDiff {
  readonly added: readonly ServerEntry[];
  /** Also those that can no longer be used. */
  readonly removed: readonly ServerEntry[];
  readonly changed: readonly { readonly before: ServerEntry; readonly after: ServerEntry }[];
  readonly same: readonly ServerEntry[];
}

/**
 * Compares servers by their names. One has changed when anything that matters to
 * it has, secrets included; where it was said does not matter.
 */
export function diffConfig(before: Pick<Config, "servers">, after: Pick<Config, "servers">): ConfigDiff {
  const old = new Map(before.servers.map((server) => [server.name, server]));
  const names = new Set(after.servers.map(({ name }) => name));
  const pairs = after.servers.map((server) => ({ before: old.get(server.name), after: server }));
  return {
    added: pairs.flatMap((pair) => (pair.before === undefined ? pair.after : [])),
    removed: before.servers.filter(({ name }) => !names.has(name)),
    changed: pairs.flatMap((pair) =>
      pair.before === undefined || isSame(pair.before, pair.after) ? [] : { before: pair.before, after: pair.after },
    ),
    same: pairs.flatMap((pair) => (pair.before !== undefined && isSame(pair.before, pair.after) ? pair.after : [])),
  };
}

function isSame({ origin: _, ...a }: ServerEntry, { origin: __, ...b }: ServerEntry): boolean {
  return canonicalText(asJson(a)) === canonicalText(asJson(b));
}
