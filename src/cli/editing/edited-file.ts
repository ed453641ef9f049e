import { resolve } from "node:path";
import { type DialectName, dialectOf, dialects } from "../../config/dialects.ts";
import { wellKnownConfigs } from "../../config/environment.ts";
import { exists } from "../../config/node/load-config.ts";
import type { CommandContext, OptionOf } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { homeOf } from "./home.ts";

/** A configuration file that a command changes. */
export interface EditedFile {
  readonly path: string;
  readonly dialect: DialectName | undefined;
}

/** Options that say which file is changed. */
export const fileOptions: FileOptions = {
  for: {
    type: "text",
    value: "dialect",
    meaning: "the editor or program whose file it is",
    choices: dialects.map(({ name }) => name),
  },
  project: { type: "flag", meaning: "its file in this folder; the default where there is one" },
  user: { type: "flag", meaning: "its file of the user, for all folders" },
  file: { type: "text", short: "f", value: "file", meaning: "this file" },
};

export const dryRunOption: { readonly "dry-run": OptionOf<"flag"> } = {
  "dry-run": { type: "flag", meaning: "show what would change, and change nothing" },
};

type FileOptions = { readonly [K in "for" | "file"]: OptionOf<"text"> } & {
  readonly [K in "project" | "user"]: OptionOf<"flag">;
};

interface FileChoice {
  readonly for: string | undefined;
  readonly project: boolean;
  readonly user: boolean;
  readonly file: string | undefined;
}

/** The file that the options name: by its path, or the one that a program keeps for the folder or the user. */
export async function editedFile(
  options: FileChoice,
  { env, cwd }: Pick<CommandContext, "env" | "cwd">,
): Promise<EditedFile> {
  if (options.project && options.user) throw new UsageError("--project and --user exclude each other");
  const dialect = dialects.find(({ name }) => name === options.for)?.name;
  if (options.file !== undefined) return { path: resolve(cwd, options.file), dialect };
  const name = dialect ?? "generic";
  const known = wellKnownConfigs({ cwd, home: homeOf(env), platform: process.platform, env });
  const own = known.filter((one) => one.dialect === name);
  const scopes = options.user ? ["user"] : options.project ? ["project"] : ["project", "user"];
  for (const scope of scopes) {
    const paths = own.filter((one) => one.scope === scope).map(({ path }) => resolve(path));
    const [first] = paths;
    if (first === undefined) continue;
    const found = await Promise.all(paths.map(exists));
    return { path: paths[found.indexOf(true)] ?? first, dialect: name };
  }
  const scope = options.user ? "the user" : "a project";
  throw new UsageError(`${dialectOf(name).app} keeps no file for ${scope}`, "name the file with --file");
}
