import { gzipSync } from "node:zlib";
import { build, type OutputFile } from "esbuild";
import { describe, expect, it } from "vitest";

/** Bundles a program that uses the built package by its public names: the file that starts it, and what is loaded later. */
async function bundle(source: string) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: source, resolveDir: process.cwd(), sourcefile: "program.mjs" },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    splitting: true,
    outdir: ".tmp/bundle",
    format: "esm",
    platform: "node",
    external: ["typebox", "typebox/*"],
  });
  const outputs = Object.entries(metafile.outputs);
  const [start] = outputs.find(([, { entryPoint }]) => entryPoint === "program.mjs" || entryPoint === "<stdin>") ?? [];
  const loaded = new Set<string>();
  const load = (path: string | undefined): void => {
    if (path === undefined || loaded.has(path)) return;
    loaded.add(path);
    for (const { path: next, kind, external } of metafile.outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && external !== true) load(next);
    }
  };
  load(start);
  const textOf = (files: readonly OutputFile[]): string => files.map(({ text }) => text).join("");
  const atStart = outputFiles.filter(({ path }) => [...loaded].some((file) => path.endsWith(file)));
  expect(atStart.length).toBe(loaded.size);
  return { atStart: textOf(atStart), all: textOf(outputFiles) };
}

const server = `
  import { createServer, tool } from "plugbay/server";
  import { serveStdio } from "plugbay/stdio";
  await serveStdio(createServer({ name: "min", version: "1.0.0", tools: { hello: tool({ run: () => "hello" }) } }));
`;

const client = `
  import { connect } from "plugbay/client";
  export const client = await connect("node server.js");
`;

/** Bytes that may only become fewer. The goal for what is loaded at start is 30 kB. */
const limits = { atStart: 33_000, all: 42_500 };

describe("bundles", () => {
  it("a minimal stdio server is small, without a schema library", async () => {
    const { atStart, all } = await bundle(server);
    expect(gzipSync(atStart, { level: 9 }).length).toBeLessThanOrEqual(limits.atStart);
    expect(gzipSync(all, { level: 9 }).length).toBeLessThanOrEqual(limits.all);
  });

  it("a server holds nothing of the client, and a client nothing of the server", async () => {
    expect((await bundle(server)).all).not.toContain("timed out: no sign of life");
    expect((await bundle(client)).all).not.toContain("is defined twice");
  });
});
