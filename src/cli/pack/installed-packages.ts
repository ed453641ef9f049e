import { existsSync, realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { UsageError } from "../usage-error.ts";
import { type Dependencies, readDependencies } from "./package-manifest.ts";

/** A package that a project needs when it runs. */
export interface InstalledPackage {
  readonly name: string;
  /** Where it is, without links. */
  readonly folder: string;
  /** Where it goes in a bundle, such as `node_modules/yaml`. */
  readonly place: string;
}

/**
 * All packages that a project needs when it runs, with those that they need: found as Node finds them, and placed so that
 * Node finds the same ones in a bundle. Throws a {@link UsageError} for one that is not installed.
 */
export async function installedPackages(root: string, manifest: Dependencies): Promise<readonly InstalledPackage[]> {
  const placed = new Map<string, InstalledPackage>();
  const waiting: Requiring[] = [{ name: "this project", folder: realpathSync(root), place: "", needs: manifest }];
  for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
    const { dependencies, optionalDependencies, peerDependencies } = one.needs;
    const missing = new Set([...dependencies, ...peerDependencies]);
    for (const name of [...dependencies, ...optionalDependencies, ...peerDependencies]) {
      const folder = findPackage(name, one.folder);
      if (folder === undefined) {
        if (missing.has(name))
          throw new UsageError(`${name}, which ${one.name} needs, is not installed`, "run npm install");
        continue;
      }
      const place = placeOf(name, folder, one, placed);
      if (placed.has(place)) continue;
      placed.set(place, { name, folder, place });
      waiting.push({ name, folder, place, needs: await readDependencies(folder) });
    }
  }
  return [...placed.values()].toSorted((a, b) => (a.place < b.place ? -1 : 1));
}

interface Requiring {
  readonly name: string;
  readonly folder: string;
  readonly place: string;
  readonly needs: Dependencies;
}

/** The folder of a package, as a file in `from` would find it. */
function findPackage(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return realpathSync(candidate);
    if (folder === dirname(folder)) return undefined;
  }
}

/**
 * Where a package goes so that who requires it finds this one: at the top, or where another one is in the way, inside of
 * who requires it.
 */
function placeOf(
  name: string,
  folder: string,
  { place }: Requiring,
  placed: ReadonlyMap<string, InstalledPackage>,
): string {
  const around = place === "" ? [""] : ["", ...ancestors(place)];
  const places = around.map((outer) => `${outer === "" ? "" : `${outer}/`}node_modules/${name}`);
  const found = places.findLast((one) => placed.has(one));
  const isOther = found !== undefined && placed.get(found)?.folder !== folder;
  return (isOther ? places.at(-1) : (found ?? places[0])) ?? `node_modules/${name}`;
}

/** The packages around a place, from the outermost: `node_modules/a`, `node_modules/a/node_modules/b`. */
function ancestors(place: string): readonly string[] {
  const parts = place.split("/node_modules/");
  return parts.map((_, at) => parts.slice(0, at + 1).join("/node_modules/"));
}

/** Whether a package was written into `node_modules` by an installer, which takes only what is published. */
export function isInstalledCopy({ folder }: InstalledPackage): boolean {
  return folder.split(sep).includes("node_modules");
}

/** The path of a file in the bundle. */
export function pathInBundle({ folder, place }: InstalledPackage, file: string): string {
  return `${place}/${relative(folder, file).split(sep).join("/")}`;
}
