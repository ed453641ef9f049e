import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";

/** The files beside and below a file that it may be made of. Packages, hidden folders and what is built are left out. */
export function sourceFiles(file: string): readonly string[] {
  const found: string[] = [file];
  const folders = [dirname(file)];
  for (let folder = folders.pop(); folder !== undefined && found.length < maxFiles; folder = folders.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name.startsWith(".") || entry.name === "node_modules" || entry.name === "dist") continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (path !== file && source.test(entry.name)) found.push(path);
    }
  }
  return found;
}

const source = /\.(?:[cm]?[jt]sx?|json)$/;

/** Watching more would cost more than it is worth. */
const maxFiles = 2_000;
