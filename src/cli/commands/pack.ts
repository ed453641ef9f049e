import { mkdir, readFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { isObject, type JsonObject } from "../../json/json.ts";
import { replaceFile } from "../../std/node/replace-file.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { checkAgainst } from "../pack/check-against.ts";
import { type Bundle, makeBundle } from "../pack/make-bundle.ts";
import { type PackageManifest, readPackageManifest } from "../pack/package-manifest.ts";
import { maxDescription, toServerJson } from "../pack/server-json.ts";
import { serverJsonSchema } from "../pack/server-json-schema.ts";
import { readVariables, type Variable } from "../pack/variable.ts";
import { UsageError } from "../usage-error.ts";

const options = {
  mcpb: { type: "flag", meaning: "write the bundle only" },
  "server-json": { type: "flag", meaning: "write server.json only" },
  out: {
    type: "text",
    short: "o",
    value: "folder",
    meaning: "where they are written; default the folder of the project",
  },
  name: { type: "text", value: "name", meaning: "the name in the registry; default mcpName of package.json" },
  remote: { type: "texts", value: "url", meaning: "a URL at which the server is served; may be repeated" },
  "mcpb-url": { type: "text", value: "url", meaning: "where the bundle will be: server.json gets it with its digest" },
  env: { type: "texts", short: "e", value: "NAME", meaning: "a variable that the server reads; NAME? may be missing" },
  allow: { type: "texts", value: "file", meaning: "pack this file although it looks like a secret" },
} as const;

export const command: Command = defineCommand({
  name: "pack",
  usage: ["[folder]"],
  description:
    "Writes what others need to install the server of a project: server.json for the registry (schema 2025-12-11), and a\n" +
    ".mcpb bundle (manifest 0.3) with the files that npm would publish and all packages that they need. Name, version, bin and\n" +
    "the rest are those of package.json. Members of server.json that it does not make stay. Settings and keys, such as .env and\n" +
    "*.pem, are left out; a file that looks like a secret is refused. Nothing is published, and no script runs.",
  maxArguments: 1,
  options,
  examples: [
    { line: "plugbay pack", does: "both, for the project of this folder" },
    { line: "plugbay pack ./demo --mcpb --env API_KEY --out dist", does: "a bundle; its users are asked for API_KEY" },
    {
      line: "plugbay pack --server-json --remote https://example.com/mcp --json",
      does: "server.json of a served server",
    },
  ],
  async run(context) {
    const { args, cwd } = context;
    const folder = resolve(cwd, args[0] ?? ".");
    const manifest = await readPackageManifest(folder);
    const given = context.parseWith(options).options;
    const variables = readVariables(given.env);
    const isBoth = given.mcpb === given["server-json"];
    const wantsBundle = isBoth || given.mcpb;
    const plan = { folder, manifest, variables, isBoth };
    const url = given["mcpb-url"];
    const bundle =
      wantsBundle || url !== undefined
        ? await makeBundle(folder, manifest, { ...context, variables, allowed: given.allow })
        : undefined;
    const described = {
      name: given.name,
      remotes: given.remote.map(checkedUrl),
      bundle: url === undefined || bundle === undefined ? undefined : { url: checkedUrl(url), sha256: bundle.sha256 },
    };
    const serverJson = isBoth || given["server-json"] ? await describe(plan, described, context) : undefined;
    await write(
      { out: resolve(cwd, given.out ?? folder), bundle: wantsBundle ? bundle : undefined, serverJson },
      context,
    );
    return undefined;
  },
});

interface Plan {
  readonly folder: string;
  readonly manifest: PackageManifest;
  readonly variables: readonly Variable[];
  /** True when both files are written, as far as they can be. */
  readonly isBoth: boolean;
}

type Described = Omit<Parameters<typeof toServerJson>[1], "variables">;

/** The `server.json`. Where nobody asked for it alone, what it lacks is told, and it is not written. */
async function describe(
  { folder, manifest, variables, isBoth }: Plan,
  described: Described,
  { say, json }: CommandContext,
): Promise<JsonObject | undefined> {
  try {
    const made = toServerJson(manifest, { ...described, variables }, await readBefore(join(folder, "server.json")));
    await checkAgainst(serverJsonSchema, made, "server.json");
    for (const note of json ? [] : notesOn(manifest, made)) say(`note: ${note}`);
    return made;
  } catch (error) {
    if (!isBoth || !(error instanceof UsageError)) throw error;
    say(`no server.json: ${error.message}${error.hint === undefined ? "" : `\n  ${error.hint}`}`);
    return undefined;
  }
}

async function readBefore(path: string): Promise<JsonObject> {
  const text = await readFile(path, "utf8").catch(() => "{}");
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Told below, in the words for all that is no object.
  }
  throw new UsageError(`${path} is not a JSON object`, "mend it, or delete it");
}

function notesOn({ mcpName, isPrivate, description }: PackageManifest, { name }: JsonObject): readonly string[] {
  const isProven = isPrivate || mcpName === name;
  return [
    ...(isProven ? [] : [`the registry wants "mcpName": "${name}" in the package.json that is published`]),
    ...(description.length > maxDescription ? [`the description is cut after ${maxDescription} characters`] : []),
  ];
}

function checkedUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new UsageError(`${JSON.stringify(url)} is not a URL of http: or https:`, "such as: https://example.com/mcp");
}

interface Written {
  readonly out: string;
  readonly bundle: Bundle | undefined;
  readonly serverJson: JsonObject | undefined;
}

async function write({ out, bundle, serverJson }: Written, context: CommandContext): Promise<void> {
  await mkdir(out, { recursive: true });
  const told: { bundle?: object; serverJson?: string } = {};
  const lines: string[] = [];
  const shown = (path: string): string => relative(context.cwd, path);
  if (bundle !== undefined) {
    const { fileName, bytes, sha256, files, leftOut } = bundle;
    const path = join(out, fileName);
    await replaceFile(path, bytes, 0o644);
    told.bundle = { path, bytes: bytes.length, sha256, files, leftOut };
    lines.push(`wrote ${shown(path)}: ${files} files, ${bytes.length} bytes, sha256 ${sha256}`);
    if (leftOut.length > 0) lines.push(`left out: ${leftOut.join(", ")}`);
  }
  if (serverJson !== undefined) {
    const path = join(out, "server.json");
    await replaceFile(path, `${JSON.stringify(serverJson, undefined, 2)}\n`, 0o644);
    told.serverJson = path;
    lines.push(`wrote ${shown(path)}: ${String(serverJson.name)} ${String(serverJson.version)}`);
  }
  context.print(told, () => lines.join("\n"));
}
