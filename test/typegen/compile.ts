import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../e2e/support/places.ts";

/** Something the compiler does not like. */
export interface Diagnostic {
  readonly file: string;
  readonly line: number;
  readonly code: string;
  readonly message: string;
}

const tsc = join(root, "node_modules", "typescript", "bin", "tsc");

/**
 * Type-checks files as a project of their own inside this package, so that
 * `plugbay/client` is what has been built, with the strict options of the
 * repository and those given. Says what is wrong with these files only.
 */
export async function compile(
  project: string,
  files: Readonly<Record<string, string>>,
  compilerOptions: object = {},
): Promise<readonly Diagnostic[]> {
  const folder = join(root, ".tmp", "typegen", project);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const settings = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  return parse(await run(folder));
}

/** All diagnostics as `file:line code`, for comparing with what is expected. */
export function places(diagnostics: readonly Diagnostic[]): readonly string[] {
  return diagnostics.map(({ file, line, code }) => `${file}:${line} ${code}`);
}

/** Lines of a text that say `// error TS1234`, in the form of {@link places}. */
export function expectedPlaces(file: string, text: string): readonly string[] {
  return text.split("\n").flatMap((line, index) => {
    const code = /\/\/ error (TS\d+)/.exec(line)?.[1];
    return code === undefined ? [] : [`${file}:${index + 1} ${code}`];
  });
}

function run(folder: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = [tsc, "-p", folder, "--pretty", "false"];
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      // The compiler ends with 1 or 2 when it has found something, which it then prints.
      if (error !== null && stdout === "") reject(new Error(`the compiler failed: ${stderr}`, { cause: error }));
      else resolve(stdout);
    });
  });
}

function parse(output: string): readonly Diagnostic[] {
  const found = [...output.matchAll(/^([^\s(][^(\n]*)\((\d+),\d+\): error (TS\d+): (.*)$/gm)];
  if (output.trim() !== "" && found.length === 0) throw new Error(`the compiler said: ${output}`);
  return found
    .map(([, file = "", line, code = "", message = ""]) => ({ file, line: Number(line), code, message }))
    .filter(({ file }) => !file.includes("/"));
}
