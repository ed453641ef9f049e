import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript-5.9";
import { readExports, sourceOf } from "./entries.mjs";
import { root } from "./run.mjs";

/** Where the report is kept. */
export const reportFile = join("test", "api-report.md");

/** Every entry of the package with the names it exports, values before types. Read from the sources. */
export function apiReport() {
  const entries = Object.entries(readExports()).flatMap(([name, entry]) => {
    const types = entry.types ?? entry.default?.types;
    const web = entry.browser;
    return types
      ? [
          {
            name: name.replace(".", "plugbay"),
            source: join(root, sourceOf(types)),
            web: web && join(root, sourceOf(web)),
          },
        ]
      : [];
  });
  const files = entries.flatMap(({ source, web }) => (web ? [source, web] : [source]));
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    allowImportingTsExtensions: true,
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
  });
  const sections = entries.map(({ name, source, web }) => {
    const { values, types } = namesOf(program, source);
    const missing = web ? values.filter((value) => !namesOf(program, web).values.includes(value)) : [];
    const lines = [
      `## ${name}`,
      "",
      ...values.map((value) => `- \`${value}\`${missing.includes(value) ? " (Node only)" : ""}`),
      ...types.map((type) => `- type \`${type}\``),
    ];
    return `${lines.join("\n")}\n`;
  });
  return ["# Public API\n", "Written by `node scripts/api-report.mjs`.\n", ...sections].join("\n");
}

function namesOf(program, file) {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const values = [];
  const types = [];
  for (const symbol of checker.getExportsOfModule(checker.getSymbolAtLocation(source))) {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    const { flags } = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
    const isTypeOnly = symbol.declarations.some((node) =>
      ts.isExportSpecifier(node) ? ts.isTypeOnlyExportDeclaration(node) : node.getSourceFile() !== source,
    );
    if (flags & ts.SymbolFlags.Value && !isTypeOnly) values.push(symbol.name);
    else if (flags & ts.SymbolFlags.Type) types.push(symbol.name);
  }
  return { values: values.toSorted(), types: types.toSorted() };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(join(root, reportFile), apiReport());
}
