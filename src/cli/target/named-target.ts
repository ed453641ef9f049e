import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type ConfigProblem, formatConfigProblem } from "../../config/problem.ts";
import { resolveConfig } from "../../config/resolve-config.ts";
import type { ServerEntry } from "../../config/server-entry.ts";
import { McpError } from "../../protocol/errors.ts";
import { UsageError } from "../usage-error.ts";
import { type ConfigFiles, onlyServer, readAllConfigs, serverNames } from "./config-files.ts";
import type { ResolveContext, ResolvedTarget } from "./resolved-target.ts";

/** The target of a name from a configuration file, or of `server:tool`. */
export async function namedTarget(text: string, context: ResolveContext): Promise<ResolvedTarget> {
  const files = await readAllConfigs(context);
  const names = serverNames(files);
  const colon = text.indexOf(":");
  const name = names.includes(text) || colon < 0 ? text : text.slice(0, colon);
  if (!names.includes(name)) throw unknownTarget(text, { files, names, cwd: context.cwd });
  const tool = text.slice(name.length + 1);
  const server = await serverOf(name, files, context);
  return { entry: server.target, name, server, ...(tool !== "" && { tool }) };
}

async function serverOf(name: string, files: ConfigFiles, { onInput }: ResolveContext): Promise<ServerEntry> {
  refuseTakenOver(name, files);
  const environment = { ...files.environment, ...(onInput && { onInput }) };
  const { servers, problems } = await resolveConfig(onlyServer(files.parsed, name), environment);
  const server = servers.find((one) => one.name === name);
  if (server === undefined) throw unusable(name, problems);
  if (server.enabled) return server;
  const { path, line } = server.origin.place;
  throw new UsageError(`the server ${name} is switched off in ${path}:${line ?? 1}`, "switch it on there");
}

/** A project that somebody else wrote must not start its own program under a name that the user gave to another one: throws. */
export function refuseTakenOver(name: string, { known, parsed }: ConfigFiles): void {
  const scopes = new Map(known.map(({ path, scope }) => [path, scope]));
  const having = parsed.filter(({ servers }) => servers.some((server) => server.name === name));
  const ofUser = having.find(({ path }) => scopes.get(path) === "user");
  const ofProject = having.findLast(({ path }) => scopes.get(path) === "project");
  if (ofUser === undefined || ofProject === undefined) return;
  throw new UsageError(
    `the server ${name} is in ${ofUser.path} and in ${ofProject.path} of this folder`,
    `say which with --config, such as --config ${ofProject.path}`,
  );
}

function unusable(name: string, problems: readonly ConfigProblem[]): McpError {
  const errors = problems.filter(({ level, server }) => level === "error" && server === name);
  const [first] = errors;
  const { path = "", line, column } = first?.place ?? {};
  const message = errors.map(formatConfigProblem).join("\n") || `the configuration of ${name} cannot be used`;
  const data = { path, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  return new McpError("invalid-config", message, { data });
}

interface Looked {
  readonly files: ConfigFiles;
  readonly names: readonly string[];
  readonly cwd: string;
}

function unknownTarget(text: string, { files, names, cwd }: Looked): Error {
  const [broken] = files.broken;
  // The name may be in a file that cannot be read.
  if (broken !== undefined) return broken;
  const address = /^[\w.-]+:\d{1,5}(?:\/\S*)?$|^[\w-]+(?:\.[\w-]+)+\/\S*$/.test(text) ? text : undefined;
  if (address !== undefined) {
    return new UsageError(`${address} is not a URL`, `write http://${address} or https://${address}`);
  }
  if (existsSync(resolve(cwd, text))) {
    return new UsageError(`${text} is not a file of JavaScript or TypeScript`, `start it as a command: -- ${text}`);
  }
  const where = files.parsed.length === 0 ? "no configuration file was found" : "no configuration file has it";
  const hint = names.length === 0 ? "give a URL, or -- and a command" : "plugbay list shows the names there are";
  return new UsageError(`there is no server ${JSON.stringify(text)}: ${where}`, hint, { name: text, known: names });
}
