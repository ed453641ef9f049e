import { dirname, join } from "node:path";

/** A program of npm and what stands before its arguments. */
export interface NpmProgram {
  readonly program: string;
  readonly before: readonly string[];
}

/** How npm or npx is started. They are scripts of the shell on Windows; there Node runs the file that came with it. */
export function npmProgram(name: "npm" | "npx"): NpmProgram {
  if (process.platform !== "win32") return { program: name, before: [] };
  const file = join(dirname(process.execPath), "node_modules", "npm", "bin", `${name}-cli.js`);
  return { program: process.execPath, before: [file] };
}
