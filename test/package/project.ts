import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { parse as parseJsonc } from "jsonc-parser";

const run = promisify(execFile);

/** The compilers that the package is tested with: the lowest that is supported, one between, the newest. */
export const compilers = {
  "TypeScript 5.7": "typescript-5.7",
  "TypeScript 5.9": "typescript-5.9",
  "TypeScript 7.0": "typescript",
} as const;

export type Compiler = keyof typeof compilers;

/** A folder outside of this repository with the packed package installed, and projects that use it. */
export interface Workspace extends AsyncDisposable {
  /** The path of the packed package. */
  readonly tarball: string;
  /** The `node_modules` with the packed package and its dependencies. */
  readonly modules: string;
  /** The program of the packed package. */
  readonly program: string;
  /** Packs another package, and puts what is packed beside the first one. */
  add(folder: string): Promise<void>;
  /** A project as `npm init -y` and `tsc --init` of a compiler leave it, with these options changed. */
  createProject(options: ProjectOptions): Promise<Project>;
}

export interface ProjectOptions {
  readonly compiler: Compiler;
  readonly files: Readonly<Record<string, string>>;
  /** Whether `@types/node` is installed. */
  readonly hasNodeTypes: boolean;
  readonly compilerOptions?: Readonly<Record<string, unknown>>;
}

export interface Project {
  readonly folder: string;
  /** Compiles the project and gives what the compiler said: nothing when all is well. */
  compile(): Promise<string>;
}

/** Packs the package and installs the tarball with its dependencies and `companions`, but without its optional peers. */
export async function createWorkspace(...companions: readonly string[]): Promise<Workspace> {
  const root = mkdtempSync(join(tmpdir(), "plugbay-project-"));
  const modules = join(root, "node_modules");
  mkdirSync(modules);
  const tarball = await unpack(".", modules);
  const { dependencies } = JSON.parse(readFileSync(join(modules, "plugbay", "package.json"), "utf8"));
  for (const name of [...Object.keys(dependencies), ...companions]) install(modules, name);

  let count = 0;
  return {
    tarball,
    modules,
    add: async (folder) => void (await unpack(folder, modules)),
    program: join(modules, "plugbay", "dist", "node", "plugbay.js"),
    async createProject({ compiler, files, hasNodeTypes, compilerOptions }) {
      const folder = join(root, `project-${++count}`);
      mkdirSync(folder);
      const tsc = resolve("node_modules", compilers[compiler], "bin", "tsc");
      write(folder, "package.json", JSON.stringify({ name: "project", version: "1.0.0", type: "module" }));
      await run(process.execPath, [tsc, "--init"], { cwd: folder });
      const { compilerOptions: initial } = parseJsonc(readFileSync(join(folder, "tsconfig.json"), "utf8"));
      if (hasNodeTypes) for (const name of ["@types/node", "undici-types"]) install(join(folder, "node_modules"), name);
      const types = hasNodeTypes ? ["node"] : [];
      write(
        folder,
        "tsconfig.json",
        JSON.stringify({ compilerOptions: { ...initial, ...always, types, ...compilerOptions } }),
      );
      for (const [name, text] of Object.entries(files)) write(folder, name, text);
      return {
        folder,
        compile: () =>
          run(process.execPath, [tsc, "-p", folder, "--pretty", "false"], { cwd: folder }).then(
            ({ stdout }) => stdout,
            ({ stdout, stderr }) => `${stdout}${stderr}`,
          ),
      };
    },
    async [Symbol.asyncDispose]() {
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Packs the package of a folder, and unpacks it as an installed one. The path of the tarball. */
async function unpack(folder: string, modules: string): Promise<string> {
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { stdout } = await run(npm, [
    "pack",
    folder,
    "--json",
    "--ignore-scripts",
    "--pack-destination",
    dirname(modules),
  ]);
  const [{ filename, name }] = JSON.parse(stdout) as readonly [{ readonly filename: string; readonly name: string }];
  const tarball = join(dirname(modules), filename);
  mkdirSync(join(modules, name));
  await run("tar", ["-xzf", tarball, "-C", join(modules, name), "--strip-components=1"]);
  return tarball;
}

/** What newer compilers start a project with, and declarations of other packages are checked as well. */
const always = {
  module: "nodenext",
  target: "esnext",
  declaration: true,
  skipLibCheck: false,
  rewriteRelativeImportExtensions: true,
};

/** A copy, so that nothing is found by way of this repository. */
function install(modules: string, name: string): void {
  cpSync(resolve("node_modules", name), join(modules, name), { recursive: true, dereference: true });
}

function write(folder: string, name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}
