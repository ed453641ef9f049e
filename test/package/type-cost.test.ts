import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const TOOLS = 100;

/*
 * What `run` returns is compared with `output`, with its literals, and `input` must describe an object:
 * that takes 1.5 times the instantiations of types that check neither, and the same time to compile
 * (TypeScript 5.9, both kinds: within 3 percent of 2.7 s).
 */

const kinds = {
  "plain JSON Schema": {
    maxInstantiations: 65_000,
    head: "",
    input: (n: number) => `{
      type: "object",
      properties: {
        a${n}: { type: "string" }, b: { type: "number" }, c: { type: "boolean" },
        d: { type: "array", items: { type: "string" } }, e: { enum: ["x", "y"] },
      },
      required: ["a${n}", "b"],
    }`,
    output: (n: number) => `{ type: "object", properties: { r${n}: { type: "number" } }, required: ["r${n}"] }`,
  },
  zod: {
    maxInstantiations: 90_000,
    head: 'import { z } from "zod";',
    input: (n: number) => `z.object({
      a${n}: z.string(), b: z.number(), c: z.boolean().optional(),
      d: z.array(z.string()).optional(), e: z.enum(["x", "y"]).optional(),
    })`,
    output: (n: number) => `z.object({ r${n}: z.number() })`,
  },
};

it.each(Object.entries(kinds))(
  "100 tools with %s cost few instantiations",
  (name, { head, input, output, maxInstantiations }) => {
    const folder = resolve(".tmp", "types", name.replaceAll(" ", "-"));
    const numbers = Array.from({ length: TOOLS }, (_, index) => index);
    const tools = numbers.map(
      (n) => `t${n}: tool({
      input: ${input(n)},
      output: ${output(n)},
      run: ({ a${n}, b }) => ({ r${n}: b + a${n}.length }),
    }),`,
    );
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, "tools.ts"),
      `import { createServer, tool } from "plugbay/server";
    ${head}
    export const server = createServer({ name: "x", version: "1", tools: { ${tools.join("\n")} } });
    `,
    );
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: resolve("tsconfig.json"), include: ["tools.ts"] }),
    );
    const tsc = resolve("node_modules", "typescript", "bin", "tsc");
    const report = execFileSync(process.execPath, [tsc, "-p", folder, "--extendedDiagnostics"], { encoding: "utf8" });
    const count = Number(/^Instantiations:\s+(\d+)/m.exec(report)?.[1]);
    expect(count).toBeGreaterThan(TOOLS);
    expect(count).toBeLessThanOrEqual(maxInstantiations);
  },
);
