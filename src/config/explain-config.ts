import { canonicalText } from "../json/canonical.ts";
import { asJson } from "../json/json.ts";
import { maskText } from "../std/secrets.ts";
import { dialectOf } from "./dialects.ts";
import { type ConfigProblem, formatConfigProblem, formatLocation, type SourceLocation, shownName } from "./problem.ts";
import type { Config, ConfigFile } from "./resolve-config.ts";
import type { FieldOrigin, IgnoredField, ServerEntry, ServerOrigin } from "./server-entry.ts";

/** What became of a configuration, and why. Plain data without secrets. */
export interface ConfigExplanation {
  readonly servers: readonly ServerExplanation[];
  /** Problems that are of no server. */
  readonly problems: readonly ConfigProblem[];
  readonly files: readonly ConfigFile[];
}

export interface ServerExplanation extends Omit<ServerOrigin, "dialect"> {
  /** What people call the program that the file is for. */
  readonly app: string;
  /** `unusable` says that there is an error among the problems. */
  readonly status: "on" | "off" | "unusable";
  readonly fields: readonly FieldOrigin[];
  readonly ignored: readonly IgnoredField[];
  readonly problems: readonly ConfigProblem[];
}

/**
 * Lists every server and field with its value, the file and line where it was found, the variables used, the entry it
 * replaces and what was ignored. Values that are or may be secret are hidden.
 */
export function explainConfig({ servers, problems, files, origins }: Config): ConfigExplanation {
  const usable = new Map(servers.map((server) => [server.name, server]));
  const explained = origins.map((origin): ServerExplanation => {
    const { dialect, ...said } = origin;
    const entry = usable.get(origin.name);
    return {
      ...said,
      app: dialectOf(dialect).app,
      status: entry === undefined ? "unusable" : entry.enabled ? "on" : "off",
      problems: problems.filter(({ server }) => server === origin.name),
    };
  });
  return {
    servers: explained,
    problems: problems.filter(({ server }) => server === undefined),
    files: files.map((file) => ({ ...file, path: maskText(file.path) })),
  };
}

/** An explanation to read in a terminal. */
export function formatConfigExplanation({ servers, problems }: ConfigExplanation): string {
  const blocks = servers.map(formatServer);
  const others = problems.map((problem) => `${problem.level}: ${formatConfigProblem(problem)}\n`);
  if (blocks.length === 0 && others.length === 0) return "no servers\n";
  return [...blocks, ...(others.length === 0 ? [] : [others.join("")])].join("\n");
}

function formatServer(server: ServerExplanation): string {
  const { name, app, status, place, fields, ignored, replaces, problems } = server;
  const width = Math.min(maxWidth, Math.max(0, ...fields.map(({ field }) => field.length)));
  const lines = [
    `${shownName(name)} (${status}), ${app}, ${formatLocation(place)}`,
    ...fields.map((field) => `  ${formatField(field, place, width)}`),
    ...ignored.map(({ field, place: at }) => `  ignored: ${field}  (${placeWithin(at, place)})`),
    ...replaces.map((at) => `  instead of ${formatLocation(at)}`),
    ...problems.map((problem) => `  ${problem.level}: ${formatConfigProblem(problem)}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const maxWidth = 32;

function formatField({ field, shown, place, variables }: FieldOrigin, server: SourceLocation, width: number): string {
  const from = variables.length === 0 ? "" : `, from ${variables.map(shownName).join(", ")}`;
  return `${field.padEnd(width)}  ${oneLine(shown)}  (${placeWithin(place, server)}${from})`;
}

/** The file is said only where it is another one than that of the server. */
function placeWithin(place: SourceLocation, server: SourceLocation): string {
  const sameFile = place.path === server.path && place.line !== undefined;
  return sameFile ? `${place.line}:${place.column ?? 1}` : formatLocation(place);
}

/** Terminals obey control characters; a value must not. */
function oneLine(text: string): string {
  const short = text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
  return short.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => JSON.stringify(character).slice(1, -1));
}

const maxShown = 200;

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
