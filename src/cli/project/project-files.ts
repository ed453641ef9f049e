import { ownInfo } from "../../protocol/own-info.ts";

/** What a new project is made of. */
export interface ProjectOptions {
  /** The name of the package and of the server. */
  readonly name: string;
  readonly language: "javascript" | "typescript";
  /** What `package.json` says of the version of plugbay. */
  readonly plugbay: string;
  /** Whether the Node that runs now needs `tsx` for TypeScript. */
  readonly needsTsx: boolean;
}

/** The files of a new project: a server, the program that serves it, and its tests. By path. */
export function projectFiles(options: ProjectOptions): Readonly<Record<string, string>> {
  const extension = options.language === "typescript" ? "ts" : "js";
  return {
    "package.json": json(packageOf(options, extension)),
    [`server.${extension}`]: serverFile(options),
    [`main.${extension}`]: mainFile(extension),
    [`server.test.${extension}`]: testFile(options.language, extension),
    ...(options.language === "typescript" ? { "tsconfig.json": json(tsconfig) } : { "jsconfig.json": json(jsconfig) }),
    "README.md": readme(options, extension),
    ".gitignore": "node_modules/\n*.mcpb\n",
  };
}

function packageOf({ name, language, plugbay, needsTsx }: ProjectOptions, extension: string) {
  const isTypeScript = language === "typescript";
  const node = isTypeScript && needsTsx ? "node --import tsx" : "node";
  return {
    name,
    version: "1.0.0",
    description: "A server of the Model Context Protocol",
    private: true,
    type: "module",
    engines: { node: isTypeScript && !needsTsx ? ">=22.18" : ">=20" },
    bin: { [name]: `./main.${extension}` },
    scripts: {
      start: `${node} main.${extension}`,
      // Node 20 finds no tests in TypeScript by itself: there the shell does.
      test: isTypeScript && needsTsx ? `${node} --test *.test.ts` : `${node} --test`,
      dev: `plugbay dev server.${extension}`,
      ...(isTypeScript && { check: "tsc" }),
    },
    dependencies: { plugbay },
    ...(isTypeScript && {
      devDependencies: {
        "@types/node": ">=20",
        ...(needsTsx && { tsx: "^4.20.0" }),
        typescript: ">=5.8",
      },
    }),
  };
}

function serverFile({ name, language }: ProjectOptions): string {
  return `${language === "typescript" ? "" : "// @ts-check\n"}import { createServer, tool } from "plugbay/server";

export const server = createServer({
  name: ${JSON.stringify(name)},
  version: "1.0.0",
  tools: {
    greet: tool({
      description: "Greets somebody by name",
      annotations: { readOnlyHint: true },
      input: {
        type: "object",
        properties: { name: { type: "string", description: "Who is greeted" } },
        required: ["name"],
        additionalProperties: false,
      },
      run: ({ name }) => \`Hello, \${name}!\`,
    }),
  },
});
`;
}

function mainFile(extension: string): string {
  return [
    "#!/usr/bin/env node",
    'import { serveStdio } from "plugbay/stdio";',
    `import { server } from "./server.${extension}";`,
    "",
    "await serveStdio(server);",
    "",
  ].join("\n");
}

function testFile(language: ProjectOptions["language"], extension: string): string {
  // What the compiler would refuse, too.
  const noName = language === "typescript" ? "{} as never" : "/** @type {any} */ ({})";
  return [
    'import assert from "node:assert/strict";',
    'import { test } from "node:test";',
    'import { connect } from "plugbay/client";',
    `import { server } from "./server.${extension}";`,
    "",
    'test("greets by name", async () => {',
    "  const client = await connect(server);",
    '  assert.equal(await client.tools.greet({ name: "Ada" }), "Hello, Ada!");',
    "  await client.close();",
    "});",
    "",
    'test("refuses a greeting without a name", async () => {',
    "  const client = await connect(server);",
    `  const { isError } = await client.callTool("greet", ${noName});`,
    "  assert.equal(isError, true);",
    "  await client.close();",
    "});",
    "",
  ].join("\n");
}

function readme({ name }: ProjectOptions, extension: string): string {
  return `# ${name}

A server of the Model Context Protocol, made with plugbay ${ownInfo.version}.

| command | what it does |
|---|---|
| \`npm test\` | runs the tests in \`server.test.${extension}\` |
| \`npm start\` | serves on stdio, as hosts start it |
| \`npm run dev\` | serves at a URL, and serves changed files without a restart |
| \`npx plugbay call ./server.${extension} greet name=Ada\` | calls a tool |
| \`npx plugbay install . --for cursor\` | adds the server to the configuration of an editor |
`;
}

const jsconfig = {
  compilerOptions: { checkJs: true, strict: true, noEmit: true, module: "nodenext", target: "es2022" },
};

const tsconfig = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    module: "nodenext",
    target: "es2022",
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    types: ["node"],
  },
};

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
