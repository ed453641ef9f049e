import { gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import { describe, expect, it } from "vitest";

/** Parts of a bundled program, each as the text of its files. */
interface Bundle {
  /** What is loaded when it starts. */
  readonly atStart: string;
  /** What it may ever load, but for what checks plain JSON Schemas. */
  readonly withoutSchemas: string;
  readonly all: string;
}

/** Bundles a program that uses the built package by its public names. */
async function bundle(source: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: source, resolveDir: process.cwd(), sourcefile: "program.mjs" },
    bundle: true,
    tsconfigRaw: {}, // Bundlers of users do not read the one of this repository.
    minify: true,
    write: false,
    metafile: true,
    splitting: true,
    outdir: ".tmp/bundle",
    format: "esm",
    platform: "node",
    external: ["typebox", "typebox/*"],
  });
  const { outputs } = metafile;
  const [start] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === "program.mjs") ?? [];

  const load = (path: string, follows: (file: Import) => boolean, loaded = new Set<string>()): ReadonlySet<string> => {
    loaded.add(path);
    for (const file of outputs[path]?.imports ?? []) {
      if (file.external !== true && !loaded.has(file.path) && follows(file)) load(file.path, follows, loaded);
    }
    return loaded;
  };
  const textOf = (follows: (file: Import) => boolean): string => {
    const loaded = [...load(String(start), follows)];
    const files = outputFiles.filter(({ path }) => loaded.some((file) => path.endsWith(file)));
    expect(files.length).toBe(loaded.length);
    return files.map(({ text }) => text).join("");
  };
  const isStatic = ({ kind }: Import): boolean => kind === "import-statement";
  const isForSchemas = ({ path }: Import): boolean => outputs[path]?.entryPoint?.includes("/schema/") === true;

  return {
    atStart: textOf(isStatic),
    withoutSchemas: textOf((file) => isStatic(file) || !isForSchemas(file)),
    all: textOf(() => true),
  };
}

type Import = Metafile["outputs"][string]["imports"][number];

const server = `
  import { createServer, tool } from "plugbay/server";
  import { serveStdio } from "plugbay/stdio";
  await serveStdio(createServer({ name: "min", version: "1.0.0", tools: { hello: tool({ run: () => "hello" }) } }));
`;

const client = `
  import { connect } from "plugbay/client";
  export const client = await connect("node server.js");
`;

/**
 * Bytes. Checking plain JSON Schemas takes 12,800 more than the rest: keywords of five drafts, ids, anchors, and proofs
 * that a check ends in time.
 */
const limits: Readonly<Record<keyof Bundle, number>> = { atStart: 33_300, withoutSchemas: 71_600, all: 84_600 };

describe("bundles", () => {
  it("a minimal stdio server is small, without a schema library", async () => {
    for (const [part, text] of Object.entries(await bundle(server))) {
      expect(gzipSync(text, { level: 9 }).length, part).toBeLessThanOrEqual(limits[part as keyof Bundle]);
    }
  });

  it("a server that starts holds neither sessions nor checks of schemas", async () => {
    const { atStart, withoutSchemas, all } = await bundle(server);
    const later = ["already initialized", "exponentially many ways", "it takes too many steps"];
    const held = (text: string): readonly boolean[] => later.map((words) => text.includes(words));
    expect([atStart, withoutSchemas, all].map(held)).toEqual([
      [false, false, false],
      [true, false, false],
      [true, true, true],
    ]);
  });

  it("a server holds nothing of the client, and a client nothing of the server", async () => {
    const ofServer = "is defined twice";
    const ofClient = "neither a result nor progress";
    const [serving, connecting] = [(await bundle(server)).all, (await bundle(client)).all];
    expect([serving.includes(ofServer), serving.includes(ofClient)]).toEqual([true, false]);
    expect([connecting.includes(ofServer), connecting.includes(ofClient)]).toEqual([false, true]);
  });
});
