import { explainConfig, type ServerExplanation } from "../../config/explain-config.ts";
import { formatConfigProblem, formatLocation } from "../../config/problem.ts";
import { resolveConfig } from "../../config/resolve-config.ts";
import { isObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import { type Command, type CommandContext, defineCommand, type ExitCode } from "../command.ts";
import { type ConfigFiles, readAllConfigs } from "../target/config-files.ts";
import { targetOptions } from "../target/target-options.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { formatTable } from "../values/table.ts";

/** A server as `plugbay list` tells of it. */
interface ListedServer {
  readonly name: string;
  /** `on`, `off` and `unusable` are what the file says; `ready`, `needs-auth` and `down` what connecting came to. */
  readonly state: "on" | "off" | "unusable" | "ready" | "needs-auth" | "down";
  /** Its URL, or its command, without secrets. */
  readonly target: string;
  readonly app: string;
  /** Where it is said. */
  readonly file: string;
  readonly problems: readonly string[];
  readonly revision?: string;
  readonly tools?: number;
}

export const command: Command = defineCommand({
  name: "list",
  usage: ["", "--connect", "--config <file>"],
  description:
    "Lists the servers of all configuration files that are found: those of this folder, and those of the user, in the\n" +
    "dialect of every editor. Nothing is started. With --connect every server that is on is connected to, and its state\n" +
    "is ready, needs-auth or down; the exit code is 3 when one is down, else 4 when one needs a sign-in. A file that cannot\n" +
    "be read gives exit code 2.",
  options: {
    connect: { type: "flag", meaning: "connect to each, and say how it is" },
    config: targetOptions.config,
    "connect-timeout": targetOptions["connect-timeout"],
  },
  examples: [
    { line: "plugbay list", does: "what is configured" },
    { line: "plugbay list --connect", does: "and whether it works" },
    { line: "plugbay list --json --config .vscode/mcp.json", does: "the servers of one file, for a program" },
  ],
  async run(context) {
    const { env, cwd, options } = context;
    const files = await readAllConfigs({ env, cwd, files: options.config });
    // A value that is missing is told, and does not keep a server from the list.
    const config = await resolveConfig(files.parsed, { ...files.environment, lenient: true });
    const explained = explainConfig(config).servers.map(toListed);
    const servers = options.connect ? await connectAll(explained, context) : explained;
    const broken = files.broken.map(({ message }) => message);
    context.print({ servers, broken }, () => formatServers(servers, files, context));
    if (!context.json)
      for (const message of broken) context.say(`${context.style.red("error")}: ${printable(message)}`);
    return exitCodeFor(servers, broken);
  },
});

function exitCodeFor(servers: readonly ListedServer[], broken: readonly string[]): ExitCode {
  if (broken.length > 0) return 2;
  const has = (wanted: ListedServer["state"]): boolean => servers.some(({ state }) => state === wanted);
  if (has("down")) return 3;
  return has("needs-auth") ? 4 : 0;
}

function toListed({ name, status, app, place, fields, problems }: ServerExplanation): ListedServer {
  return {
    name,
    state: status,
    target: targetOf(fields),
    app,
    file: formatLocation(place),
    problems: problems.map(formatConfigProblem),
  };
}

/** The URL or the command of a server, as it may be shown. */
function targetOf(fields: ServerExplanation["fields"]): string {
  const shown = (wanted: RegExp): readonly string[] =>
    fields.flatMap(({ field, shown: text }) => (wanted.test(field) ? text : []));
  return [...shown(/^url$/), ...shown(/^command$/), ...shown(/^args\[/)].join(" ");
}

const maxConnecting = 8;

/** Connects to those that are on, a few at a time. */
async function connectAll(servers: readonly ListedServer[], context: CommandContext): Promise<readonly ListedServer[]> {
  const connected = [...servers];
  const waiting = servers.entries();
  const work = async (): Promise<void> => {
    for (const [at, server] of waiting) if (server.state === "on") connected[at] = await connectTo(server, context);
  };
  await Promise.all(Array.from({ length: maxConnecting }, work));
  return connected;
}

async function connectTo(server: ListedServer, context: CommandContext): Promise<ListedServer> {
  try {
    const { client } = await context.openTarget({ target: server.name });
    const { signal } = context;
    const tools = client.server.capabilities.tools === undefined ? [] : await client.listTools({ signal });
    return { ...server, state: "ready", revision: client.revision, tools: tools.length };
  } catch (error) {
    if (context.signal.aborted) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const state = error instanceof McpError && needsSignIn(error) ? "needs-auth" : "down";
    return { ...server, state, problems: [...server.problems, message] };
  }
}

function needsSignIn({ code, data }: McpError): boolean {
  return code === "unauthorized" || (code === "http-error" && isObject(data) && data.status === 401);
}

function formatServers(
  servers: readonly ListedServer[],
  { parsed, broken }: ConfigFiles,
  context: CommandContext,
): string {
  const { style, columns } = context;
  if (servers.length === 0) {
    if (broken.length > 0) return "";
    return parsed.length === 0 ? "no configuration files were found" : "no servers are configured";
  }
  const rows = servers.map(({ name, state, target, app, file, revision, tools }) => [
    style.cyan(oneLine(name)),
    stateStyle(state, style)(state),
    tools === undefined ? "" : `${tools} tools, ${revision}`,
    oneLine(app),
    `${oneLine(target)} ${style.dim(oneLine(file))}`,
  ]);
  const problems = servers.flatMap(({ name, problems: all }) =>
    all.map((text) => `  ${oneLine(name)}: ${printable(text)}`),
  );
  return [formatTable(rows, columns), ...problems].join("\n");
}

function stateStyle(state: ListedServer["state"], style: CommandContext["style"]): (text: string) => string {
  if (state === "on" || state === "ready") return style.green;
  return state === "off" ? style.dim : state === "needs-auth" ? style.yellow : style.red;
}
