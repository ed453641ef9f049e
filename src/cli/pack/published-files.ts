import { execFile } from "node:child_process";
import type { CommandContext } from "../command.ts";
import { npmProgram } from "../project/npm-program.ts";
import { UsageError } from "../usage-error.ts";

/**
 * The files of a folder that `npm publish` would take, relative to it: by `files` of `package.json`, and without what
 * `.npmignore` or `.gitignore` leave out. No script of the package runs.
 */
export function publishedFiles(
  folder: string,
  { env, signal }: Pick<CommandContext, "env" | "signal">,
): Promise<readonly string[]> {
  const { program, before } = npmProgram("npm");
  const args = [...before, "pack", "--dry-run", "--json", "--ignore-scripts", "--offline", "--loglevel=error"];
  const options = { cwd: folder, env, signal, maxBuffer: 67_108_864 };
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      if (signal.aborted) return reject(signal.reason);
      const paths = error === null ? pathsIn(stdout) : undefined;
      if (paths !== undefined) return resolve(paths);
      const said = stderr.trim().split("\n").at(-1) ?? error?.message ?? "";
      reject(
        new UsageError(`npm cannot say which files of ${folder} are published: ${said}`, "see: npm pack --dry-run"),
      );
    });
  });
}

function pathsIn(stdout: string): readonly string[] | undefined {
  try {
    const said: unknown = JSON.parse(stdout);
    const [one] = Object.values(said as object) as readonly { readonly files?: readonly { readonly path: string }[] }[];
    return one?.files?.map(({ path }) => path);
  } catch {
    return undefined;
  }
}
