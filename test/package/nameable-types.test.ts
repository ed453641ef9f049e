import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import ts from "typescript-5.9";
import { expect, it } from "vitest";

// A program that exports what a function of ours returned has to name its type in its own
// declarations, and can only name what an entry exports: else the compiler says TS2742, TS2883 or TS4023.

type Exports = string | { readonly types?: string; readonly default?: Exports };

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { exports: Readonly<Record<string, Exports>> };
const declarations: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(manifest.exports).flatMap(([name, entry]) =>
    declarationsOf(entry).map((file) => [name.replace(".", "plugbay"), file]),
  ),
);
const root = resolve("dist/index.d.ts");
const program = ts.createProgram(Object.values(declarations), {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ESNext,
  strict: true,
  skipLibCheck: true,
  types: ["node"],
});
const checker = program.getTypeChecker();

// A program that imports one entry sees no other, but for `plugbay` where the entry refers to it.
it.each(Object.keys(declarations))(
  "every type that a value of %s leads to is exported by it or by plugbay (T1)",
  (name) => {
    const entry = declarations[name] ?? "";
    const own = new Set(exportsOf(entry));
    expect(own.size).toBeGreaterThan(0);
    const exported = new Set([...own, ...(refersTo(entry, root) ? exportsOf(root) : []), ...storesOf(name)]);
    const values = [...own].filter(({ flags }) => (flags & ts.SymbolFlags.Value) !== 0);
    const unnamed = [...reachedFrom(values)].filter((symbol) => isDeclaredApart(symbol) && !exported.has(symbol));
    expect(unnamed.map(({ name }) => name).toSorted()).toEqual([]);
  },
);

function declarationsOf(entry: Exports): readonly string[] {
  if (typeof entry === "string") return [];
  if (entry.types !== undefined) return [resolve(entry.types)];
  return entry.default === undefined ? [] : declarationsOf(entry.default);
}

function exportsOf(entry: string): readonly ts.Symbol[] {
  const source = program.getSourceFile(entry);
  const module = source && checker.getSymbolAtLocation(source);
  return module === undefined ? [] : checker.getExportsOfModule(module).map(declared);
}

/** A server or gateway gives back the store it was given, and a program that has one imports `plugbay/store`. */
function storesOf(name: string): readonly ts.Symbol[] {
  return ["plugbay/server", "plugbay/gateway"].includes(name) ? exportsOf(declarations["plugbay/store"] ?? "") : [];
}

/** Whether a program with this entry has the other file too. */
function refersTo(entry: string, file: string): boolean {
  const references = program.getSourceFile(entry)?.referencedFiles ?? [];
  return entry === file || references.some(({ fileName }) => resolve(dirname(entry), fileName) === file);
}

/** Types that are named where values are declared, and where those types are, without what is only passed in. */
function reachedFrom(values: readonly ts.Symbol[]): ReadonlySet<ts.Symbol> {
  const reached = new Set<ts.Symbol>();
  const queue = [...values];
  const visit = (node: ts.Node): void => {
    if (ts.isParameter(node) || ts.isTypeParameterDeclaration(node) || ts.isConditionalTypeNode(node)) return;
    if (ts.isPropertySignature(node) && ts.isComputedPropertyName(node.name)) return;
    const symbol = namedBy(node);
    if (symbol?.declarations?.some(isOurs) && !reached.has(symbol)) {
      if (!ts.isExpressionWithTypeArguments(node)) reached.add(symbol);
      queue.push(symbol);
    }
    ts.forEachChild(node, visit);
  };
  const walked = new Set<ts.Symbol>();
  for (let symbol = queue.pop(); symbol !== undefined; symbol = queue.pop()) {
    if (walked.has(symbol)) continue;
    walked.add(symbol);
    for (const declaration of symbol.declarations ?? []) if (isOurs(declaration)) ts.forEachChild(declaration, visit);
  }
  return reached;
}

function namedBy(node: ts.Node): ts.Symbol | undefined {
  const name = ts.isTypeReferenceNode(node)
    ? node.typeName
    : ts.isExpressionWithTypeArguments(node)
      ? node.expression
      : undefined;
  const symbol = name && checker.getSymbolAtLocation(name);
  return symbol === undefined || (symbol.flags & ts.SymbolFlags.TypeParameter) !== 0 ? undefined : declared(symbol);
}

function declared(symbol: ts.Symbol): ts.Symbol {
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
}

/** The compiler writes out an alias that a file keeps to itself; everything else has to be named. */
function isDeclaredApart({ flags, declarations = [] }: ts.Symbol): boolean {
  if ((flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class)) !== 0) return true;
  if ((flags & ts.SymbolFlags.TypeAlias) === 0) return false;
  return declarations.some((one) => (ts.getCombinedModifierFlags(one) & ts.ModifierFlags.Export) !== 0);
}

function isOurs(declaration: ts.Declaration): boolean {
  return declaration.getSourceFile().fileName.startsWith(resolve("dist"));
}
