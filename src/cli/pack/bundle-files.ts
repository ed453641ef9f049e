import type { Dirent } from "node:fs";
import { lstat, readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { CommandContext } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { type InstalledPackage, installedPackages, isInstalledCopy, pathInBundle } from "./installed-packages.ts";
import type { PackageManifest } from "./package-manifest.ts";
import { publishedFiles } from "./published-files.ts";
import { isLeftOut, secretReason } from "./secret-files.ts";
import type { ZipFile } from "./zip.ts";

/** What goes into a bundle, and what of the project does not. */
export interface BundleFiles {
  readonly files: readonly ZipFile[];
  /** Settings and keys, by their path in the project. */
  readonly leftOut: readonly string[];
}

interface BundleOptions extends Pick<CommandContext, "env" | "signal"> {
  /** Files that look like secrets and are none, by their path in the project. */
  readonly allowed: readonly string[];
}

/** The files of a project and of all packages that it needs. Throws a {@link UsageError} for a file that looks like a secret. */
export async function bundleFiles(
  folder: string,
  manifest: PackageManifest,
  options: BundleOptions,
): Promise<BundleFiles> {
  const published = await publishedFiles(folder, options);
  const leftOut = published.filter(isLeftOut);
  const wanted = published.filter((path) => !isLeftOut(path) && !isMadeAgain(path));
  const own = await Promise.all(wanted.map((path) => readOne(join(folder, path), path)));
  refuseSecrets(own, options.allowed);
  const packages = await installedPackages(folder, manifest);
  const theirs = await Promise.all(packages.map((one) => filesOf(one, options)));
  const files = [...own, ...theirs.flat()];
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
  if (bytes > maxBytes) throw new UsageError(`the bundle would have ${bytes} bytes, and ${maxBytes} are allowed`);
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), leftOut };
}

/** What this command writes itself, and what other programs leave behind. */
function isMadeAgain(path: string): boolean {
  return /^(?:manifest|server)\.json$|\.(?:mcpb|log|tsbuildinfo)$|(?:^|\/)(?:\.DS_Store|Thumbs\.db)$/.test(path);
}

const maxBytes = 536_870_912;

function refuseSecrets(files: readonly ZipFile[], allowed: readonly string[]): void {
  for (const { path, bytes } of files) {
    const reason = allowed.includes(path) ? undefined : secretReason(path, bytes);
    if (reason === undefined) continue;
    const hint = `leave it out in .npmignore or .gitignore, or say that it is no secret: --allow ${path}`;
    throw new UsageError(`${path} must not be packed: ${reason}`, hint);
  }
}

/** All files of a package. Of one that is only linked, those that it would publish. */
async function filesOf(one: InstalledPackage, options: BundleOptions): Promise<readonly ZipFile[]> {
  const paths = isInstalledCopy(one)
    ? await filesBelow(one.folder)
    : (await publishedFiles(one.folder, options)).map((path) => join(one.folder, path));
  const wanted = paths.filter((path) => !isLeftOut(path) && !isForDevelopment(relative(one.folder, path)));
  return Promise.all(wanted.map((path) => readOne(path, pathInBundle(one, path))));
}

/** Types, source maps, pages, examples and tests: what runs needs none of them. Licences stay. */
function isForDevelopment(path: string): boolean {
  const [folder = ""] = path.split(sep);
  const isAside = path !== folder && /^(?:docs?|examples?|tests?|__tests__|benchmarks?)$/.test(folder);
  return isAside || /\.(?:map|d\.[cm]?ts)$/.test(path) || (/\.md$/i.test(path) && !/licen[cs]e|notice/i.test(path));
}

/** Files below a folder, without those of other packages. Links are not followed. */
async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const below = async (entry: Dirent): Promise<readonly string[]> => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [path];
    return entry.isDirectory() && entry.name !== "node_modules" ? filesBelow(path) : [];
  };
  return (await Promise.all(entries.map(below))).flat();
}

async function readOne(file: string, path: string): Promise<ZipFile> {
  if (path.includes("\\")) throw new UsageError(`${path} has a backslash in its name`, "rename it");
  const [bytes, { mode }] = await Promise.all([readFile(file), lstat(file)]);
  return { path, bytes, isExecutable: (mode & 0o111) !== 0 };
}
