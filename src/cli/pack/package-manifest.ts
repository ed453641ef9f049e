import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { UsageError } from "../usage-error.ts";

/** Packages that a package names, without those for its development. */
export interface Dependencies {
  readonly dependencies: readonly string[];
  /** They may be missing. */
  readonly optionalDependencies: readonly string[];
  /** Those that have to be there. */
  readonly peerDependencies: readonly string[];
}

/** What a `package.json` says of a server. */
export interface PackageManifest extends Dependencies {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** The name for people, where there is one. */
  readonly title: string | undefined;
  /** The file that serves on stdio: `bin`, relative to the folder. */
  readonly entry: string | undefined;
  readonly isPrivate: boolean;
  /** The name of the server in registries. */
  readonly mcpName: string | undefined;
  readonly author: Person | undefined;
  /** The URL of the repository, as a browser takes it. */
  readonly repository: string | undefined;
  readonly homepage: string | undefined;
  readonly support: string | undefined;
  readonly license: string | undefined;
  readonly keywords: readonly string[];
  /** Which Node it needs. */
  readonly node: string | undefined;
}

export interface Person {
  readonly name: string;
  readonly email?: string;
  readonly url?: string;
}

/** Reads the `package.json` of a folder. Throws a {@link UsageError} that names what is missing. */
export async function readPackageManifest(folder: string): Promise<PackageManifest> {
  const path = join(folder, "package.json");
  const manifest = await readManifest(path);
  const { name, version, description } = manifest;
  for (const [member, value] of Object.entries({ name, version, description })) {
    if (textOf(value) === undefined) throw new UsageError(`${path} has no ${member}`, `add "${member}" to it`);
  }
  return { ...toManifest(manifest), name: String(name), version: String(version), description: String(description) };
}

/** What the package of a folder needs when it runs. */
export async function readDependencies(folder: string): Promise<Dependencies> {
  return dependenciesOf(await readManifest(join(folder, "package.json")));
}

async function readManifest(path: string): Promise<JsonObject> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined)
    throw new UsageError(`there is no ${path}`, "name the folder of a project: plugbay pack ./demo");
  const parsed = parseJson(text);
  if (!parsed.ok || !isObject(parsed.value)) throw new UsageError(`${path} is not a JSON object`);
  return parsed.value;
}

function toManifest(manifest: JsonObject): Omit<PackageManifest, "name" | "version" | "description"> {
  const { displayName, bin, mcpName, author, repository, homepage, bugs, license, keywords, engines } = manifest;
  return {
    ...dependenciesOf(manifest),
    title: textOf(displayName),
    entry: textOf(isObject(bin) ? Object.values(bin)[0] : bin)?.replace(/^\.\//, ""),
    isPrivate: manifest.private === true,
    mcpName: textOf(mcpName),
    author: personOf(author),
    repository: repositoryUrl(isObject(repository) ? textOf(repository.url) : textOf(repository)),
    homepage: urlOf(homepage),
    support: urlOf(isObject(bugs) ? bugs.url : bugs),
    license: textOf(license),
    keywords: Array.isArray(keywords) ? keywords.flatMap((keyword) => textOf(keyword) ?? []) : [],
    node: isObject(engines) ? textOf(engines.node) : undefined,
  };
}

function dependenciesOf(manifest: JsonObject): Dependencies {
  const optionalDependencies = namesOf(manifest.optionalDependencies);
  return {
    dependencies: namesOf(manifest.dependencies).filter((name) => !optionalDependencies.includes(name)),
    optionalDependencies,
    peerDependencies: requiredPeers(manifest),
  };
}

/** What other packages have to be there: those that are not optional. */
function requiredPeers({ peerDependencies, peerDependenciesMeta }: JsonObject): readonly string[] {
  const meta = isObject(peerDependenciesMeta) ? peerDependenciesMeta : {};
  return namesOf(peerDependencies).filter((name) => {
    const one = Object.hasOwn(meta, name) ? meta[name] : undefined;
    return !(isObject(one) && one.optional === true);
  });
}

function namesOf(value: Json | undefined): readonly string[] {
  return isObject(value) ? Object.keys(value) : [];
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

function urlOf(value: Json | undefined): string | undefined {
  const text = textOf(value);
  return text !== undefined && URL.canParse(text) && /^https?:/.test(text) ? text : undefined;
}

/** `Ada <ada@example.com> (https://example.com)`, or its parts. */
function personOf(value: Json | undefined): Person | undefined {
  const [, name, email, url] =
    typeof value === "string" ? (/^([^<(]+)(?:<([^>]*)>)?\s*(?:\(([^)]*)\))?$/.exec(value.trim()) ?? []) : [];
  const parts = isObject(value) ? value : { name, email, url };
  const known = textOf(parts.name);
  if (known === undefined) return undefined;
  const [address, page] = [textOf(parts.email), urlOf(parts.url)];
  return { name: known, ...(address !== undefined && { email: address }), ...(page !== undefined && { url: page }) };
}

/** The page of a repository: of `git+https://…`, `git@host:…`, `github:owner/name` and `owner/name`. */
function repositoryUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const [, host, path] = /^(?:(github|gitlab):)?([\w.-]+\/[\w.-]+)$/.exec(text) ?? [];
  const url =
    path === undefined
      ? text.replace(/^git\+/, "").replace(/^(?:ssh:\/\/)?git@([^:/]+)[:/]/, "https://$1/")
      : `https://${host ?? "github"}.com/${path}`;
  return urlOf(url.replace(/^git:/, "https:").replace(/\.git$/, ""));
}
