import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { defined } from "../../std/defined.ts";
import { UsageError } from "../usage-error.ts";
import type { PackageManifest } from "./package-manifest.ts";
import type { Variable } from "./variable.ts";

/** What is told of a server besides its `package.json`. */
export interface ServerJsonOptions {
  /** Its name in the registry. Default: `mcpName` of the `package.json`. */
  readonly name: string | undefined;
  readonly variables: readonly Variable[];
  /** URLs at which it is served. */
  readonly remotes: readonly string[];
  /** Where its bundle will be, and the SHA-256 of it. */
  readonly bundle: { readonly url: string; readonly sha256: string } | undefined;
}

/** The `server.json` of a server for the registry, in schema 2025-12-11. Members of `before` that nothing is known of stay. */
export function toServerJson(
  manifest: PackageManifest,
  options: ServerJsonOptions,
  before: JsonObject = {},
): JsonObject {
  const { version, title, homepage, repository } = manifest;
  const packages = packagesOf(manifest, options);
  const remotes = options.remotes.map((url) => ({ type: "streamable-http", url }));
  const made = {
    $schema: serverJsonSchemaUrl,
    name: registryName(manifest, options.name),
    ...defined({ title }),
    description: shortened(manifest.description),
    version,
    ...(repository !== undefined && { repository: { url: repository, source: sourceOf(repository) } }),
    ...defined({ websiteUrl: homepage }),
    ...(packages.length > 0 && { packages: withBefore(packages, before.packages, ["registryType"]) }),
    ...(remotes.length > 0 && { remotes: withBefore(remotes, before.remotes, ["type", "url"]) }),
  };
  const all = { ...before, ...made } as JsonObject;
  if (all.packages === undefined && all.remotes === undefined) {
    const hint = "publish the package, or give --remote <url> or --mcpb-url <url>";
    throw new UsageError("there is nothing to install: the package is private, and no URL is known", hint);
  }
  return all;
}

export const serverJsonSchemaUrl = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/** At most so long, in the registry. */
export const maxDescription = 100;

function shortened(description: string): string {
  return description.length > maxDescription ? `${description.slice(0, maxDescription - 1).trimEnd()}…` : description;
}

function registryName({ mcpName, repository, name }: PackageManifest, given: string | undefined): string {
  const known = given ?? mcpName;
  if (known !== undefined && namePattern.test(known)) return known;
  const example = exampleName(repository, name);
  if (known === undefined) {
    throw new UsageError(
      "the package.json has no mcpName, the name of the server in the registry",
      `add "mcpName": "${example}"`,
    );
  }
  throw new UsageError(`${JSON.stringify(known)} is no name of a server in the registry`, `it is like ${example}`);
}

const namePattern = /^(?=.{3,200}$)[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;

/** The name that an owner of the repository may use. */
function exampleName(repository: string | undefined, name: string): string {
  const [, host, owner] = /^https:\/\/(github|gitlab)\.com\/([\w.-]+)\//.exec(repository ?? "") ?? [];
  return `io.${host ?? "github"}.${owner ?? "your-name"}/${name.replace(/^@[^/]*\//, "")}`;
}

function sourceOf(repository: string): string {
  return /^https?:\/\/(?:www\.)?([\w-]+)/.exec(repository)?.[1] ?? "git";
}

function packagesOf({ isPrivate, name, version }: PackageManifest, options: ServerJsonOptions): readonly JsonObject[] {
  const { variables, bundle } = options;
  const transport = { type: "stdio" };
  const environmentVariables = variables.map(({ name: variable, isRequired, isSecret }) => ({
    name: variable,
    isRequired,
    isSecret,
  }));
  const rest = { transport, ...(variables.length > 0 && { environmentVariables }) };
  return [
    ...(isPrivate ? [] : [{ registryType: "npm", identifier: name, version, runtimeHint: "npx", ...rest }]),
    ...(bundle === undefined
      ? []
      : [{ registryType: "mcpb", identifier: bundle.url, version, fileSha256: bundle.sha256, ...rest }]),
  ];
}

/** A list with what was in it before: entries that are the same by these members keep their other members. */
function withBefore(
  made: readonly JsonObject[],
  before: Json | undefined,
  by: readonly string[],
): readonly JsonObject[] {
  const old = Array.isArray(before) ? before.filter(isObject) : [];
  const isSame = (a: JsonObject, b: JsonObject): boolean => by.every((member) => a[member] === b[member]);
  const others = old.filter((one) => !made.some((other) => isSame(one, other)));
  return [...made.map((one) => ({ ...old.find((other) => isSame(one, other)), ...one })), ...others];
}
