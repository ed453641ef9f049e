import type { Client } from "../../client/client.ts";
import { connectEntry } from "../../connect/connect-entries.ts";
import type { ConnectOptions } from "../../connect/connect-options.ts";
import type { ConfigEntry, UrlEntry } from "../../connect/target.ts";
import { isRevision } from "../../protocol/revision.ts";
import { defined } from "../../std/defined.ts";
import type { CommandContext, OptionValues } from "../command.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import type { OpenedTarget, OpenTargetOptions } from "./opened-target.ts";
import { resolveTarget } from "./resolve-target.ts";
import type { ResolvedTarget } from "./resolved-target.ts";
import type { targetOptions } from "./target-options.ts";
import type { TypedTarget } from "./typed-target.ts";

/** Connects to a target. Logs, warnings and questions of the server go to the terminal. */
export async function openTarget(
  typed: TypedTarget,
  context: CommandContext,
  how: OpenTargetOptions = {},
): Promise<OpenedTarget> {
  const options = context.options as Options;
  const isWarm = wantsWarm(options, context, how);
  const found = await findTarget(typed, context, how.files);
  const ready = { ...found, entry: withOptions(found.entry, options, context) };
  const connecting = isWarm ? connectWarm(ready, context) : connectTo(ready, context, how);
  const client = await connecting.catch(async (error: unknown) => {
    throw found.isFile === true ? (await import("./file-target.ts")).fileError(error) : error;
  });
  const { name, tool, server } = found;
  return { client, name, ...defined({ tool, server }) };
}

/** Whether a background process is used. The variable is for the target of the command alone. */
function wantsWarm(
  { warm = false, idle }: Options,
  { env }: CommandContext,
  { connect: own, openChannel, target }: OpenTargetOptions,
): boolean {
  const byVariable = env.PLUGBAY_WARM === "1";
  if (idle !== undefined && !warm && !byVariable)
    throw new UsageError("--idle is for servers that are kept", "write --warm, too");
  return warm || (byVariable && (own ?? openChannel ?? target) === undefined);
}

async function connectTo(found: ResolvedTarget, context: CommandContext, how: OpenTargetOptions): Promise<Client> {
  const { entry, server } = found;
  const { connect: more = {}, openChannel } = how;
  const place = openChannel === undefined || !("command" in entry) ? entry : openChannel(entry);
  const auth = "url" in entry ? await authFor(entry.url, context, server) : undefined;
  return connectEntry(place, { ...(await connectOptions(found, context)), auth, ...more });
}

async function connectWarm(found: ResolvedTarget, context: CommandContext): Promise<Client> {
  const { openWarm } = await import("../warm/open-warm.ts");
  return openWarm(found, context, await connectOptions(found, context));
}

/** Finds a target, asking for what its file needs where somebody can be asked. */
export async function findTarget(
  typed: TypedTarget,
  context: CommandContext,
  named?: readonly string[],
): Promise<ResolvedTarget> {
  const { env, cwd, canAsk, options } = context;
  const { config = [] } = options as Options;
  const files = named ?? config;
  return resolveTarget(typed, { env, cwd, files, ...(canAsk && { onInput: inputAsker(context) }) });
}

function inputAsker(context: CommandContext): NonNullable<Parameters<typeof resolveTarget>[1]["onInput"]> {
  return async (input) => (await import("../terminal/ask-input.ts")).askInput(input, context);
}

type Options = Partial<OptionValues<typeof targetOptions>>;

/** What does not depend on what the target is. */
async function connectOptions({ name, server }: ResolvedTarget, context: CommandContext): Promise<ConnectOptions> {
  const { signal, canAsk, live } = context;
  const { verbose = false, timeout, "connect-timeout": connectTimeout, revision } = context.options as Options;
  const questions = canAsk ? (await import("../terminal/answer-questions.ts")).answerQuestions(name, context) : {};
  return {
    signal,
    timeoutMs: timeout ?? server?.callTimeoutMs,
    connectTimeoutMs: connectTimeout ?? server?.connectTimeoutMs,
    revision: isRevision(revision) ? revision : undefined,
    onLog: ({ level, logger, data }) => {
      const text = typeof data === "string" ? data : JSON.stringify(data);
      live.write(`${level}${logger === undefined ? "" : ` ${oneLine(logger)}`}: ${printable(text ?? "")}`);
    },
    onWarning: ({ message }) => {
      if (verbose) live.write(`warning: ${printable(message)}`);
    },
    ...questions,
  };
}

async function authFor(
  url: string,
  context: CommandContext,
  server: ResolvedTarget["server"],
): Promise<ConnectOptions["auth"]> {
  // What is no URL is refused by `connect`, in its words.
  if (!URL.canParse(url) || server?.oauth === false) return undefined;
  const { storedAuth } = await import("../sign-in/stored-auth.ts");
  return storedAuth(new URL(url), context, server);
}

/** The entry with what the options say of programs and URLs. */
export function withOptions(entry: ConfigEntry, options: Options, { live }: Pick<CommandContext, "live">): ConfigEntry {
  if ("url" in entry) {
    if ((options.env ?? []).length > 0) throw new UsageError("--env is for programs, and the target is a URL");
    return { ...entry, ...withHeaders(entry, options) };
  }
  if (!("command" in entry)) return withoutProgram(entry, options);
  if ((options.header ?? []).length > 0) throw new UsageError("--header is for URLs, and the target is a program");
  const { env, inheritEnv } = readVariables(options.env ?? []);
  const stderr = (text: string): void => {
    for (const line of printable(text).trimEnd().split("\n")) live.write(line);
  };
  return {
    ...entry,
    env: { ...entry.env, ...env },
    inheritEnv: [...(entry.inheritEnv ?? []), ...inheritEnv],
    ...(options.verbose === true && { stderr }),
  };
}

/** The headers of both. Names of headers are the same in any case. */
function withHeaders({ headers = {} }: Pick<UrlEntry, "headers">, { header = [] }: Options): Pick<UrlEntry, "headers"> {
  const given = readHeaders(header);
  if (given === undefined) return {};
  const fixed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return { headers: { ...fixed, ...given } };
}

/** A document takes headers, as a URL does; a module takes nothing. */
function withoutProgram<E extends ConfigEntry>(entry: E, { env = [], header = [] }: Options): E {
  if (env.length > 0) throw new UsageError("--env is for programs, and the target is not one");
  if (header.length > 0 && "module" in entry) throw new UsageError("--header is for URLs, and the target is a module");
  return "module" in entry ? entry : { ...entry, ...withHeaders(entry as Pick<UrlEntry, "headers">, { header }) };
}

/** `NAME=value` sets a variable, `NAME` passes ours on. */
function readVariables(texts: readonly string[]): {
  env: Readonly<Record<string, string>>;
  inheritEnv: readonly string[];
} {
  const pairs = texts.map((text) => {
    const [, name, value] = /^([^=\s]+)(?:=(.*))?$/s.exec(text) ?? [];
    if (name === undefined)
      throw new UsageError(`--env ${JSON.stringify(text)} names no variable`, "write --env NAME=value");
    return { name, value };
  });
  return {
    env: Object.fromEntries(pairs.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]))),
    inheritEnv: pairs.flatMap(({ name, value }) => (value === undefined ? [name] : [])),
  };
}

/** Headers as curl takes them. No value is in a message. */
export function readHeaders(texts: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (texts.length === 0) return undefined;
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/s.exec(text) ?? [];
      if (name === undefined || value === undefined) {
        throw new UsageError("a header has no name", 'write --header "authorization: Bearer …"');
      }
      return [name.toLowerCase(), value];
    }),
  );
}
