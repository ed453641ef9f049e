import type { ConfigExplanation, ServerExplanation } from "./explain-config.ts";
import { formatPlace, type Place } from "./place.ts";
import { formatProblem, shownName } from "./problem.ts";
import type { FieldOrigin } from "./server-entry.ts";

/** An explanation to read in a terminal. */
export function formatExplanation({ servers, problems }: ConfigExplanation): string {
  const blocks = servers.map(formatServer);
  const others = problems.map((problem) => `${problem.level}: ${formatProblem(problem)}\n`);
  if (blocks.length === 0 && others.length === 0) return "no servers\n";
  return [...blocks, ...(others.length === 0 ? [] : [others.join("")])].join("\n");
}

function formatServer(server: ServerExplanation): string {
  const { name, app, status, place, fields, ignored, replaces, problems } = server;
  const width = Math.min(maxWidth, Math.max(0, ...fields.map(({ field }) => field.length)));
  const lines = [
    `${shownName(name)} (${status}), ${app}, ${formatPlace(place)}`,
    ...fields.map((field) => `  ${formatField(field, place, width)}`),
    ...ignored.map(({ field, place: at }) => `  ignored: ${field}  (${placeWithin(at, place)})`),
    ...replaces.map((at) => `  instead of ${formatPlace(at)}`),
    ...problems.map((problem) => `  ${problem.level}: ${formatProblem(problem)}`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const maxWidth = 32;

function formatField({ field, shown, place, variables }: FieldOrigin, server: Place, width: number): string {
  const from = variables.length === 0 ? "" : `, from ${variables.map(shownName).join(", ")}`;
  return `${field.padEnd(width)}  ${oneLine(shown)}  (${placeWithin(place, server)}${from})`;
}

/** The file is said only where it is another one than that of the server. */
function placeWithin(place: Place, server: Place): string {
  const sameFile = place.path === server.path && place.line !== undefined;
  return sameFile ? `${place.line}:${place.column ?? 1}` : formatPlace(place);
}

/** Terminals obey control characters; a value must not. */
function oneLine(text: string): string {
  const short = text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
  return short.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => JSON.stringify(character).slice(1, -1));
}

const maxShown = 200;
