import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, it } from "vitest";

/** Bundles a program that uses the built package by its public names. */
async function bundle(source: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: process.cwd(), sourcefile: "program.mjs" },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    external: ["typebox", "typebox/*"],
  });
  return outputFiles[0]?.text ?? "";
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

describe("bundles", () => {
  it("a minimal stdio server is at most 30 kB, without a schema library", async () => {
    const text = await bundle(server);
    expect(gzipSync(text, { level: 9 }).length).toBeLessThanOrEqual(30_000);
  });

  it("a server holds nothing of the client, and a client nothing of the server", async () => {
    expect(await bundle(server)).not.toContain("timed out: no sign of life");
    expect(await bundle(client)).not.toContain("is defined twice");
  });
});
