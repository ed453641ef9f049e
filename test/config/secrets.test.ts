import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { explainConfig, formatConfigExplanation } from "../../src/config/explain-config.ts";
import { formatOf } from "../../src/config/parse-config.ts";
import { parseJsonTree } from "../../src/config/parse-json.ts";
import { parseTomlTree } from "../../src/config/parse-toml.ts";
import { parseYamlTree } from "../../src/config/parse-yaml.ts";
import { formatConfigProblem } from "../../src/config/problem.ts";
import { type Config, configFromObject } from "../../src/config/resolve-config.ts";
import type { ConfigNode } from "../../src/config/tree.ts";
import { McpError } from "../../src/protocol/errors.ts";
import { planted, resolveText, type Sample, samples, textOf } from "./samples.ts";

/** Secrets as services hand them out. Whole, but of nobody. */
const tokens = [
  `ghp_${"aB3dE6gH9j".repeat(4)}`,
  `sk-live-${"0a1B2c3D4e".repeat(3)}`,
  `xoxb-${"123456789012-".repeat(2)}AbCdEfGhIjKl`,
  "0123456789abcdef".repeat(2),
  "6f1d0b7e-93a4-4c2b-8f55-0d9a7c1e2b34",
  `eyJhbGciOiJIUzI1NiJ9.${"eyJzdWIiOiIxMjM0In0"}.c2lnbmF0dXJlLW9mLWEtdG9rZW4`,
];

describe("an explanation", () => {
  it.each(samples)("of a file of $dialect hides what is planted in it", async (sample) => {
    expect(everythingOf(await resolveText(textOf(sample), sample.path))).not.toMatch(/planted/);
  });

  it.each(samples)("of a file of $dialect hides a token, whichever value it is put in place of", async (sample) => {
    const texts = await variantsOf(sample);
    expect(texts.length).toBeGreaterThan(4);
    for (const [index, text] of texts.entries()) {
      const token = tokens[index % tokens.length] ?? "";
      for (const environment of [planted, {}, { lenient: true }]) {
        const config = resolveText(text.replace("TOKEN-HERE", token), sample.path, environment);
        expect(await config.then(everythingOf, messageOf), text).not.toContain(token);
      }
    }
  });

  it("hides any secret that is where secrets are", async () => {
    await fc.assert(
      fc.asyncProperty(secret, fc.constantFrom(...spots), async (value, spot) => {
        const environment = { ...planted, env: { SECRET: value }, inputs: { secret: value } };
        const readText = async (path: string) => (path.endsWith(".env") ? `A='${value.replaceAll("'", "")}'` : value);
        const config = await configFromObject(
          { mcpServers: { one: spot(value), two: { command: "x" } } },
          { ...environment, readText },
        );
        expect(everythingOf(config)).not.toContain(value);
      }),
      { numRuns: 400 },
    );
  });
});

/** Not so short that it is part of everything. */
const secret = fc
  .string({ minLength: 8, maxLength: 40, unit: fc.constantFrom(..."abcXYZ0189-_.~+/=!#%&*@ ") })
  .filter((text) => text.trim() === text && !/config|command|https?|mcp|one|two|\*\*\*/i.test(text));

const ref = "$" + "{SECRET}";

/** Entries with a secret in them. */
const spots: readonly ((value: string) => object)[] = [
  (value) => ({ command: "x", env: { SOME_NAME: value } }),
  (value) => ({ command: "x", env: { A: value }, args: ["--say", value] }),
  (value) => ({ command: "x", args: ["--api-key", value] }),
  (value) => ({ command: "x", args: [`--token=${value}`] }),
  (value) => ({ command: "x", args: ["-e", `GITHUB_TOKEN=${value}`] }),
  (value) => ({ command: "x", args: ["--header", `Authorization: Bearer ${value}`] }),
  (value) => ({ command: "x", env: { A: value }, description: `the key is ${value}` }),
  () => ({ command: "x", args: [`--anything=${ref}`, ref, `a${ref}b`] }),
  () => ({ command: ref, args: [], cwd: `/srv/${ref}` }),
  () => ({ command: "x", envFile: "/some/.env" }),
  () => ({ url: `https://example.com/${ref}/mcp` }),
  () => ({ url: ref }),
  () => ({ url: "https://example.com/mcp", headers: { "X-Any": `a ${ref}` } }),
  () => ({ url: `https://example.com/mcp?a=${ref}` }),
  (value) => ({ url: "https://example.com/mcp", headers: { "X-Any": value } }),
  (value) => ({ url: `https://example.com/mcp?a=${encodeURIComponent(value)}`, headers: { x: value } }),
  (value) => ({ url: "https://example.com/mcp", oauth: { clientSecret: value, clientId: "me" } }),
  (value) => ({ command: "x", whatever: value, more: { of: [value] } }),
  (value) => ({ command: "x", env: value, timeout: value, enabled: value, args: value }),
  (value) => ({ command: ["x", "--password", value] }),
];

/** Everything that a user, a log or a model could get to see. */
function everythingOf(config: Config): string {
  const explanation = explainConfig(config);
  return [
    JSON.stringify(explanation),
    JSON.stringify(config.origins),
    formatConfigExplanation(explanation),
    config.problems.map(formatConfigProblem).join("\n"),
    JSON.stringify(config.problems),
  ].join("\n");
}

function messageOf(error: unknown): string {
  expect(error).toBeInstanceOf(McpError);
  return `${error instanceof McpError ? error.message : ""} ${JSON.stringify(error)}`;
}

/** The file once for every text in it, with a mark in place of that text. */
async function variantsOf(sample: Sample): Promise<readonly string[]> {
  const text = textOf(sample);
  const parse = { json: parseJsonTree, toml: parseTomlTree, yaml: parseYamlTree }[formatOf(sample.path, text)];
  const offsets = new Set<number>();
  collect(await parse(text, (offset) => ({ path: "", line: 1, column: offset })), offsets);
  return [...offsets].map((offset) => {
    const [whole = ""] = /^(?:"(?:[^"\\]|\\.)*"|[^\n#,\]}]+)/.exec(text.slice(offset)) ?? [];
    return `${text.slice(0, offset)}"TOKEN-HERE"${text.slice(offset + whole.length)}`;
  });
}

function collect(node: ConfigNode, offsets: Set<number>): void {
  if (node.kind === "text") offsets.add(node.at.column ?? 0);
  if (node.kind === "array") for (const item of node.items) collect(item, offsets);
  if (node.kind === "object") for (const { value } of node.members.values()) collect(value, offsets);
}
