import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const MAX_INSTANTIATIONS = 60_000;
const TOOLS = 100;

const kinds = {
  "plain JSON Schema": {
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
    head: 'import { z } from "zod";',
    input: (n: number) => `z.object({
      a${n}: z.string(), b: z.number(), c: z.boolean().optional(),
      d: z.array(z.string()).optional(), e: z.enum(["x", "y"]).optional(),
    })`,
    output: (n: number) => `z.object({ r${n}: z.number() })`,
  },
};

it.each(Object.entries(kinds))("100 tools with %s cost few instantiations", (name, { head, input, output }) => {
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
  expect(count).toBeLessThanOrEqual(MAX_INSTANTIATIONS);
});
