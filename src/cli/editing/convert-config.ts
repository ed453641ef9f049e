import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Dialect, type DialectName, dialects } from "../../config/dialects.ts";
import { editConfig } from "../../config/edit-config.ts";
import { wellKnownConfigs } from "../../config/environment.ts";
import type { ParsedConfig } from "../../config/parse-config.ts";
import { readServer } from "../../config/read-server.ts";
import { writeServer } from "../../config/write-server.ts";
import { McpError } from "../../protocol/errors.ts";
import type { CommandContext, ExitCode } from "../command.ts";
import { readAllConfigs } from "../target/config-files.ts";
import { oneLine, printable } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";
import { homeOf } from "./home.ts";

/** Writes the servers of a file in another dialect. Ends with 2 when one of them cannot be said in it. */
export async function convertConfig(context: CommandContext, out: string | undefined): Promise<ExitCode> {
  const { args, env, cwd, style } = context;
  const [, from, to] = args;
  if (from === undefined || to === undefined) throw new UsageError("plugbay config convert needs a file and a dialect");
  const dialect = readDialect(to);
  const { parsed, broken } = await readAllConfigs({ env, cwd, files: [from] });
  const [config] = parsed;
  if (config === undefined) throw broken[0] ?? new UsageError(`${from} cannot be read`);
  const { text, warnings, errors } = await convert(config, dialect, pathOf(dialect.name, context));
  const path = out === undefined ? null : resolve(cwd, out);
  if (path !== null) await writeNew(path, text);
  context.print({ dialect: dialect.name, text, path, warnings, errors }, () =>
    path === null ? text.trimEnd() : `wrote ${path}`,
  );
  if (!context.json) {
    for (const message of warnings) context.say(`${style.yellow("warning")}: ${printable(message)}`);
    for (const message of errors) context.say(`${style.red("error")}: ${printable(message)}`);
  }
  return errors.length === 0 ? 0 : 2;
}

function readDialect(name: string): Dialect {
  const dialect = dialects.find((one) => one.name === name);
  if (dialect !== undefined) return dialect;
  const known = dialects.map((one) => one.name);
  throw new UsageError(`there is no dialect ${JSON.stringify(name)}`, `known are ${known.join(", ")}`, { name, known });
}

interface Converted {
  readonly text: string;
  /** What was left out. */
  readonly warnings: readonly string[];
  /** Servers that the dialect cannot say. */
  readonly errors: readonly string[];
}

async function convert(config: ParsedConfig, dialect: Dialect, path: string): Promise<Converted> {
  let text = "";
  const warnings: string[] = [];
  const errors: string[] = [];
  for (const raw of config.servers.filter(({ folder }) => folder === undefined)) {
    const { name } = raw;
    try {
      const { entry, lost } = writeServer(readServer(raw, config), dialect);
      for (const field of lost)
        warnings.push(`${oneLine(name)}: ${field} is left out: files of ${dialect.app} cannot say it`);
      text = await editConfig(text, { type: "set", name, entry }, { path, dialect: dialect.name });
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      errors.push(error.message);
    }
  }
  return { text, warnings, errors };
}

/** A path that files of the dialect have: it tells the format. */
function pathOf(name: DialectName, { env, cwd }: CommandContext): string {
  const known = wellKnownConfigs({ cwd, home: homeOf(env), platform: process.platform, env });
  return known.find(({ dialect }) => dialect === name)?.path ?? "mcp.json";
}

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    throw isThere ? new UsageError(`${path} is there already`, "name a new file") : error;
  }
}
