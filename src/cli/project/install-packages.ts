import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { CommandContext } from "../command.ts";
import { npmProgram } from "./npm-program.ts";

/** How a new project came to its packages. */
export type InstalledHow =
  /** A folder above has them. */
  | "found"
  | "installed"
  /** npm failed: `node_modules/plugbay` is a link to the package that runs now. */
  | "linked";

/** Makes `plugbay` importable in a folder: as it is, by npm, or without a network by a link to the package that runs now. */
export async function installPackages(folder: string, context: CommandContext): Promise<InstalledHow> {
  if (canImport(folder)) return "found";
  context.live.show("npm install");
  const isInstalled = await npmInstall(folder, context);
  context.live.clear();
  if (isInstalled && canImport(folder)) return "installed";
  context.signal.throwIfAborted();
  await linkOwn(join(folder, "node_modules"));
  return "linked";
}

/** Links the package and its program into `node_modules`, where npm would install them. */
async function linkOwn(modules: string): Promise<void> {
  const own = ownFolder();
  const bin = join(modules, ".bin");
  await mkdir(bin, { recursive: true });
  await symlink(own, join(modules, "plugbay"), "junction");
  const program = "plugbay/dist/node/plugbay.js";
  // A file that is started by node, as only npm makes programs of packages executable.
  if (process.platform === "win32") await writeFile(join(bin, "plugbay.cmd"), `@node "%~dp0\\..\\${program}" %*\r\n`);
  else {
    const script = `#!/bin/sh\nexec node "$(dirname "$0")/../${program}" "$@"\n`;
    await writeFile(join(bin, "plugbay"), script, { mode: 0o755 });
  }
}

/** Whether a file in the folder could import the package. */
export function canImport(folder: string, name = "plugbay/package.json"): boolean {
  try {
    createRequire(join(folder, "package.json")).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** The folder of this package: the program is in `dist/node`. */
function ownFolder(): string {
  return dirname(createRequire(realpathSync(process.argv[1] ?? "")).resolve("plugbay/package.json"));
}

function npmInstall(cwd: string, { env, signal }: CommandContext): Promise<boolean> {
  const { program, before } = npmProgram("npm");
  const args = [...before, "install", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0"];
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, signal, stdio: "ignore", timeout: patienceMs });
    child.once("error", () => resolve(false)).once("close", (code) => resolve(code === 0));
  });
}

/** A registry that does not answer must not keep anybody. */
const patienceMs = 45_000;
