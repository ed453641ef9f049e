import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { describe, expect, it } from "vitest";
import { outsideLegacy } from "../scripts/older-revisions.mjs";
import { readStats } from "../scripts/stats.mjs";

/** What each layer, a folder of `src`, may import besides itself. Read top-down: nothing points up. */
const layers: Readonly<Record<string, readonly string[]>> = {
  std: [],
  json: ["std"],
  jsonrpc: ["std", "json"],
  schema: ["std", "json", "typebox"],
  store: ["std", "json", "ioredis"],
  protocol: ["std", "json", "store"],
  auth: ["std", "json", "schema", "store", "protocol", "oauth4webapi", "jose", "@napi-rs"],
  "protocol/codec": ["std", "json", "jsonrpc", "protocol"],
  server: ["std", "json", "schema", "store", "protocol"],
  files: ["protocol"],
  openapi: ["std", "json", "schema", "protocol", "auth", "server", "files", "yaml"],
  modules: ["std", "json", "protocol", "server"],
  middleware: ["std", "json", "store", "protocol"],
  otel: ["std", "json", "protocol", "protocol/codec", "@opentelemetry"],
  metrics: ["std", "protocol", "protocol/codec", "prom-client"],
  client: ["std", "json", "schema", "store", "protocol"],
  bridge: ["std", "json", "schema", "protocol"],
  typegen: ["std", "json", "schema", "protocol"],
  catalog: ["std", "json", "protocol"],
  lock: ["std", "json", "protocol"],
  config: ["std", "json", "protocol", "jsonc-parser", "smol-toml", "yaml"],
  transport: ["std", "json", "jsonrpc", "schema", "store", "protocol", "protocol/codec"],
  legacy: ["std", "json", "jsonrpc", "store", "protocol", "protocol/codec", "transport"],
  connect: ["std", "json", "jsonrpc", "protocol", "bridge", "client", "transport", "openapi", "modules"],
  agent: ["std", "json", "protocol", "bridge", "catalog", "client"],
  host: [
    ...[
      "std",
      "json",
      "store",
      "protocol",
      "transport",
      "bridge",
      "catalog",
      "lock",
      "config",
      "typegen",
      "client",
      "connect",
    ],
    "agent",
  ],
  gateway: [
    ...[
      "std",
      "json",
      "schema",
      "store",
      "auth",
      "protocol",
      "server",
      "client",
      "transport",
      "connect",
      "config",
      "lock",
    ],
    ...["catalog", "host", "middleware", "bridge", "openapi", "modules", "yaml"],
  ],
  testing: ["std", "json", "jsonrpc", "store", "protocol", "protocol/codec", "transport", "client", "connect", "yaml"],
  cli: [
    ...["std", "json", "protocol", "schema", "store", "auth", "server", "client", "transport", "connect", "metrics"],
    ...["catalog", "config", "lock", "typegen", "host", "gateway", "bridge", "jsonrpc", "@clack"],
  ],
};

/** What entries show besides their layer: how to serve a server on any channel. */
const entryEdges: Readonly<Record<string, readonly string[]>> = { "src/server/index.ts": ["jsonrpc", "transport"] };

/** The only files that load a part of `src/legacy`, by `import()`, and only when an older revision is spoken. */
const seams: readonly string[] = [
  "src/transport/http/legacy-handlers.ts",
  "src/transport/legacy-client.ts",
  "src/transport/legacy-server.ts",
];

/** Files that name older revisions: the list of all revisions, and since when there is a method. */
const namesRevisions: readonly string[] = ["src/protocol/methods.ts", "src/protocol/revision.ts"];

/** Where the platform may be used. Everything else runs anywhere. */
const platform =
  /^src\/(std\/node|transport\/node|store\/node|auth\/node|config\/node|lock\/node|host\/node|openapi\/node|files|modules|testing|gateway|cli)\//;

const MAX_LINES = 450;

/** Lines outside `src/legacy` that serve only older revisions: no more than there were when they were counted. */
const MAX_OLDER_LINES = 770;

const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map((file) => join("src", file).split(sep).join("/"))
  .filter((file) => /^src\/.+\/.+\.ts$/.test(file) && !/\.test(-d)?\.ts$/.test(file));

describe("architecture", () => {
  it("sees the source", () => {
    expect(files.length).toBeGreaterThan(60);
    expect(new Set(files.map(layerOf))).toEqual(new Set(Object.keys(layers)));
  });

  it("has files that import only from the layers below them", () => {
    const forbidden = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => !mayImport(file, target))
        .map((target) => `${file} imports ${target}`),
    );
    expect(forbidden).toEqual([]);
  });

  it("has no import cycles, types included", () => {
    expect(readStats().cycles).toEqual([]);
  });

  it("loads src/legacy at its seams, and only when it is needed", () => {
    expect(readStats().seams.map((file) => `src/${file}`)).toEqual(seams);
    expect(seams.filter((file) => /from\s*["']#legacy/.test(readFileSync(file, "utf8")))).toEqual([]);
  });

  it("names older revisions in src/legacy, the list of revisions and the table of methods only", () => {
    const outside = files.filter((file) => layerOf(file) !== "legacy" && !namesRevisions.includes(file));
    expect(outside.filter((file) => /["'`]202[45]-\d\d-\d\d["'`]/.test(readFileSync(file, "utf8")))).toEqual([]);
  });

  it("asks for the era of a revision only where scripts/older-revisions.mjs says why", () => {
    const listed = new Set(outsideLegacy.map(({ file }) => file));
    const asking = files.filter((file) => layerOf(file) !== "legacy" && asksForEra(readFileSync(file, "utf8")));
    expect(asking.length).toBeGreaterThan(10);
    expect(asking.filter((file) => !listed.has(file) && file !== "src/protocol/revision.ts")).toEqual([]);
    expect(readStats().legacyLinesOutside).toBeLessThanOrEqual(MAX_OLDER_LINES);
  });

  it("has files that fit on a few screens", () => {
    const lines = files.map((file) => ({ file, lines: readFileSync(file, "utf8").split("\n").length }));
    expect(lines.filter((file) => file.lines > MAX_LINES)).toEqual([]);
  });
});

/** Whether a file imports the test of a revision's era. */
function asksForEra(source: string): boolean {
  const imports = source.match(/^import\b[^;]*?from\s*["'][^"']*revision\.ts["'];/gms) ?? [];
  return imports.some((text) => /\b(?:eraOf|isLegacy)\b/.test(text));
}

/** Whether the table of layers lets a file import a folder of `src`, a package, or a module of the platform. */
function mayImport(file: string, target: string): boolean {
  const layer = layerOf(file);
  return (
    target === layer ||
    (layers[layer] ?? []).includes(target) ||
    (entryEdges[file] ?? []).includes(target) ||
    (target.startsWith("node:") && platform.test(file)) ||
    (target === "#legacy" && seams.includes(file))
  );
}

/** The layer that a file is in: the longest key of the table that its path under `src` starts with, else its folder. */
function layerOf(file: string): string {
  const [folder = "", inner] = relative("src", file).split(/[\\/]/);
  return `${folder}/${inner}` in layers ? `${folder}/${inner}` : folder;
}

/** What a file imports: folders of `src`, or packages. Static and dynamic imports count alike. */
function importsOf(file: string): readonly string[] {
  const source = readFileSync(file, "utf8");
  const statics = source.matchAll(/^(?:import|export)\b(?:[^"';]*?from)?\s*["']([^"']+)["']/gms);
  const dynamics = source.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g);
  return [...statics, ...dynamics].map(([, specifier = ""]) => {
    if (specifier.startsWith(".")) return layerOf(relative(".", resolve(dirname(file), specifier)));
    return specifier.startsWith("node:") ? specifier : (specifier.split("/")[0] ?? "");
  });
}
