import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript-5.9";
import { readExports, sourceOf } from "./entries.mjs";
import { root } from "./run.mjs";

/** Where the report is kept. */
export const reportFile = join("test", "api-report.md");

/**
 * Every entry of the package with what it exports, values before types: of functions the signature, of types of options
 * and limits the names of their members. Read from the sources.
 */
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
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    types: ["node"],
  });
  const sections = entries.map(({ name, source, web }) => {
    const { values, types, told } = namesOf(program, source);
    const missing = web ? values.filter((value) => !namesOf(program, web).values.includes(value)) : [];
    const lines = [
      `## ${name}`,
      "",
      ...values.map((value) => `- \`${told.get(value)}\`${missing.includes(value) ? " (Node only)" : ""}`),
      ...types.map((type) => `- type \`${type}\`${told.get(type) ?? ""}`),
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
  const told = new Map();
  for (const symbol of checker.getExportsOfModule(checker.getSymbolAtLocation(source))) {
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
    const target = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
    const { flags } = target;
    const isTypeOnly = symbol.declarations.some((node) =>
      ts.isExportSpecifier(node) ? ts.isTypeOnlyExportDeclaration(node) : node.getSourceFile() !== source,
    );
    if (flags & ts.SymbolFlags.Value && !isTypeOnly) {
      values.push(symbol.name);
      told.set(symbol.name, signatureOf(checker, symbol.name, target, source));
    } else if (flags & ts.SymbolFlags.Type) {
      types.push(symbol.name);
      if (/(?:Options|Limits|Budgets?)$/.test(symbol.name)) told.set(symbol.name, `: ${optionsOf(checker, target)}`);
    }
  }
  return { values: values.toSorted(), types: types.toSorted(), told };
}

const format = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope;

/** A function with its parameters and what it returns, a class with those of its constructor, and any other value with its type. */
function signatureOf(checker, name, symbol, source) {
  const type = checker.getTypeOfSymbol(symbol);
  const made = type.getConstructSignatures();
  const signatures = [...made, ...type.getCallSignatures()];
  const texts = signatures.map((signature) => {
    const text = checker.signatureToString(signature, source, format);
    return made.includes(signature) ? `new ${name}${text}` : `${name}${text}`;
  });
  return texts.length > 0 ? texts.join("; ") : `${name}: ${checker.typeToString(type, source, format)}`;
}

/** The names of options; `?` follows those that may be left out. */
function optionsOf(checker, symbol) {
  const members = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol));
  const names = members.map(({ name, flags }) => `\`${name}${flags & ts.SymbolFlags.Optional ? "?" : ""}\``);
  return names.toSorted().join(", ");
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(join(root, reportFile), apiReport());
}
