import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommandContext } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { bundleFiles } from "./bundle-files.ts";
import { ownManifest, toBundleManifest } from "./bundle-manifest.ts";
import { bundleManifestSchema } from "./bundle-manifest-schema.ts";
import { checkAgainst } from "./check-against.ts";
import type { PackageManifest } from "./package-manifest.ts";
import type { Variable } from "./variable.ts";
import { createZip } from "./zip.ts";

/** A bundle that can be written to a file. */
export interface Bundle {
  /** What its file is called. */
  readonly fileName: string;
  readonly bytes: Uint8Array;
  readonly sha256: string;
  /** How many files it has. */
  readonly files: number;
  /** Settings and keys of the project that are not in it. */
  readonly leftOut: readonly string[];
}

interface MakeBundleOptions extends Pick<CommandContext, "env" | "signal"> {
  readonly variables: readonly Variable[];
  /** Files that look like secrets and are none. */
  readonly allowed: readonly string[];
}

/** Makes a bundle of a project, with all packages that it needs. */
export async function makeBundle(
  folder: string,
  manifest: PackageManifest,
  options: MakeBundleOptions,
): Promise<Bundle> {
  const own = await readOwnManifest(folder);
  const described = toBundleManifest(manifest, options.variables, own);
  await checkAgainst(bundleManifestSchema, described, "manifest.json");
  const { files, leftOut } = await bundleFiles(folder, manifest, options);
  requireEntry(described, files);
  const bytes = Buffer.from(`${JSON.stringify(described, undefined, 2)}\n`);
  const all = [{ path: "manifest.json", bytes, isExecutable: false }, ...files];
  const zipped = createZip(all);
  return {
    fileName: `${described.name}-${described.version}.mcpb`,
    bytes: zipped,
    sha256: createHash("sha256").update(zipped).digest("hex"),
    files: all.length,
    leftOut,
  };
}

async function readOwnManifest(folder: string): Promise<ReturnType<typeof ownManifest> | undefined> {
  const text = await readFile(join(folder, "manifest.json"), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return ownManifest(JSON.parse(text));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${join(folder, "manifest.json")} is not valid JSON`, "mend it, or rename it");
  }
}

function requireEntry(
  described: ReturnType<typeof toBundleManifest>,
  files: readonly { readonly path: string }[],
): void {
  const { entry_point: entry } = described.server as { readonly entry_point: string };
  if (files.some(({ path }) => path === entry)) return;
  throw new UsageError(
    `the file that serves, ${entry}, is not among the files of the package`,
    'build it first, and see "files" in package.json',
  );
}
