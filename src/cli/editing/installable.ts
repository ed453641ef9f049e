import { realpathSync, statSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { readServer } from "../../config/read-server.ts";
import type { Draft } from "../../config/server-draft.ts";
import { isObject, type JsonObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import type { CommandContext } from "../command.ts";
import { readAllConfigs, serverNames } from "../target/config-files.ts";
import { nodeFlags } from "../target/file-target.ts";
import { refuseTakenOver } from "../target/named-target.ts";
import { UsageError } from "../usage-error.ts";
import { readTextIfAny } from "../values/read-text.ts";

/** A server that can be written into a configuration file. */
export interface Installable {
  readonly name: string;
  readonly entry: JsonObject | Draft;
}

/** Finds a server by what was typed: a folder with a project, a file, or a name of a configuration file. */
export async function findInstallable(text: string, context: CommandContext): Promise<Installable> {
  const path = resolve(context.cwd, text);
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) {
    const project = await installableProject(path);
    if (project !== undefined) return project;
  }
  if (found?.isFile() && /\.[cm]?[jt]s$/.test(text)) {
    return { name: basename(path, extname(path)), entry: { command: process.execPath, args: serveArgs(path) } };
  }
  return installableName(text, context);
}

/** The program of a project: `bin` of its `package.json`. */
async function installableProject(folder: string): Promise<Installable | undefined> {
  const path = join(folder, "package.json");
  const text = await readTextIfAny(path);
  if (text === undefined) return undefined;
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value)) throw new UsageError(`${path} is not a JSON object`, "mend it");
  const manifest = parsed.value;
  const { bin, name } = manifest;
  const [own, program] = isObject(bin) ? (Object.entries(bin)[0] ?? []) : [undefined, bin];
  if (typeof program !== "string") {
    throw new UsageError(
      `the package.json of ${folder} has no bin`,
      "name the file: plugbay install ./server.js --for …",
    );
  }
  const file = resolve(folder, program);
  const args = [...nodeFlags(file), file];
  const shown = own ?? (typeof name === "string" ? name : basename(folder));
  return { name: shown.replace(/^.*\//, ""), entry: { command: process.execPath, args } };
}

/** What Node gets to serve what a file exports. */
function serveArgs(path: string): readonly string[] {
  return [realpathSync(process.argv[1] ?? ""), "serve", path];
}

async function installableName(name: string, { env, cwd }: CommandContext): Promise<Installable> {
  const files = await readAllConfigs({ env, cwd, files: [] });
  const known = serverNames(files);
  if (!known.includes(name)) {
    const [broken] = files.broken;
    if (broken !== undefined) throw broken;
    const hint = "give a folder with a package.json, a file, or a name of plugbay list";
    throw new UsageError(`there is no server ${JSON.stringify(name)}`, hint, { name, known });
  }
  refuseTakenOver(name, files);
  const config = files.parsed.findLast(({ servers }) => servers.some((server) => server.name === name));
  const raw = config?.servers.find((server) => server.name === name);
  if (config === undefined || raw === undefined) throw new UsageError(`there is no server ${JSON.stringify(name)}`);
  return { name, entry: readServer(raw, config) };
}
