import { isObject, type JsonObject } from "../../json/json.ts";
import { defined } from "../../std/defined.ts";
import { UsageError } from "../usage-error.ts";
import type { PackageManifest } from "./package-manifest.ts";
import type { Variable } from "./variable.ts";

/**
 * The `manifest.json` of a bundle in version 0.3 of its format. Hosts ask for variables and give them to the server.
 * `own` is what the project says of it itself, which wins.
 */
export function toBundleManifest(
  manifest: PackageManifest,
  variables: readonly Variable[],
  own: JsonObject = {},
): JsonObject {
  const { name, version, description, title, author, repository, homepage, support, license, keywords } = manifest;
  const entry = entryOf(manifest);
  const made = {
    manifest_version: "0.3",
    name: name.replace(/^@/, "").replaceAll("/", "-"),
    ...defined({ display_name: title }),
    version,
    description,
    author: { ...(author ?? { name }) },
    ...(repository !== undefined && { repository: { type: "git", url: repository } }),
    ...defined({ homepage, support }),
    server: {
      type: "node",
      entry_point: entry,
      mcp_config: { command: "node", args: [`\${__dirname}/${entry}`], env: environmentOf(variables) },
    },
    tools_generated: true,
    ...(keywords.length > 0 && { keywords }),
    ...defined({ license }),
    compatibility: { runtimes: { node: nodeOf(manifest, entry) } },
    ...(variables.length > 0 && { user_config: userConfigOf(variables) }),
  };
  return { ...made, ...own } as JsonObject;
}

/** The file that a host starts. */
export function entryOf({ entry }: PackageManifest): string {
  if (entry !== undefined) return entry;
  throw new UsageError("the package.json has no bin: which file serves on stdio?", 'add "bin": "./main.js" to it');
}

/** What a project says of its bundle in a `manifest.json` of its own. */
export function ownManifest(value: unknown): JsonObject {
  if (isObject(value) && (value.manifest_version === "0.3" || value.dxt_version === "0.3")) return value;
  throw new UsageError(
    "manifest.json of the project is not the manifest of a bundle in version 0.3",
    'rename it, or set "manifest_version": "0.3"',
  );
}

/** Node runs TypeScript since 22.18. */
function nodeOf({ node }: PackageManifest, entry: string): string {
  return node ?? (/\.[cm]?ts$/.test(entry) ? ">=22.18" : ">=20");
}

function environmentOf(variables: readonly Variable[]): JsonObject {
  return Object.fromEntries(variables.map(({ name }) => [name, `\${user_config.${name.toLowerCase()}}`]));
}

function userConfigOf(variables: readonly Variable[]): JsonObject {
  return Object.fromEntries(
    variables.map(({ name, isRequired, isSecret }) => [
      name.toLowerCase(),
      {
        type: "string",
        title: name,
        description: `The environment variable ${name} of the server`,
        required: isRequired,
        sensitive: isSecret,
        ...(!isRequired && { default: "" }),
      },
    ]),
  );
}
