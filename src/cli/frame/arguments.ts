import { parseArgs } from "node:util";
import type { OptionSpec, OptionSpecs, OptionValues, ParsedOptions } from "../command.ts";
import { UsageError } from "../usage-error.ts";

/** Before an argument that begins with a hyphen and is no option, such as the id of a task: `parseArgs` would take it apart. */
const MARK = "\0";

function unmarked(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text;
}

/** An option or an argument, in the order in which they were typed. */
type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];
type OptionToken = Extract<Token, { readonly kind: "option" }>;

interface ReadOptionsOptions {
  /** True lets options pass that nobody knows. Default false. */
  readonly lenient?: boolean;
}

/** Reads options and arguments. Throws a {@link UsageError} that names the option and what to do. */
export function readOptions<O extends OptionSpecs>(
  argv: readonly string[],
  specs: O,
  { lenient = false }: ReadOptionsOptions = {},
): ParsedOptions<O> {
  const shorts = new Set(Object.values(specs).map(({ short }) => short));
  const isArgument = (word: string): boolean => /^-[^-]./.test(word) && !shorts.has(word[1]);
  const { tokens } = parseArgs({
    args: argv.map((word) => (isArgument(word) ? MARK + word : word)),
    options: Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, toParseArgs(spec)])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const texts = new Map<string, string[]>();
  const given = new Set<string>();
  const args: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") args.push(unmarked(token.value));
    if (token.kind !== "option") continue;
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined;
    if (spec === undefined) {
      if (lenient) continue;
      throw unknownOption(token, specs);
    }
    given.add(token.name);
    const text = unmarked(textOf(token, spec));
    const before = texts.get(token.name) ?? [];
    texts.set(token.name, spec.type === "texts" ? [...before, text] : [text]);
  }
  const values = Object.entries(specs).map(([name, spec]) => [name, toValue(name, spec, texts.get(name))] as const);
  return { options: Object.fromEntries(values) as OptionValues<O>, given, args };
}

function toParseArgs({ type, short }: OptionSpec) {
  return { type: type === "flag" ? ("boolean" as const) : ("string" as const), ...(short !== undefined && { short }) };
}

function unknownOption({ rawName }: OptionToken, specs: OptionSpecs): UsageError {
  const known = Object.keys(specs).map((name) => `--${name}`);
  return new UsageError(`unknown option ${rawName}`, undefined, { name: rawName, known });
}

/** The text of an option: empty for a flag. */
function textOf({ rawName, value }: OptionToken, spec: OptionSpec): string {
  if (spec.type === "flag") {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`, `write ${rawName} alone`);
    return "";
  }
  if (value === undefined)
    throw new UsageError(`${rawName} needs a value`, `write ${rawName} <${spec.value ?? "value"}>`);
  return value;
}

function toValue(
  name: string,
  spec: OptionSpec,
  texts: readonly string[] | undefined,
): OptionValues<OptionSpecs>[string] {
  if (spec.type === "flag") return texts !== undefined;
  if (spec.type === "texts") return texts ?? [];
  const text = texts?.at(-1);
  if (text === undefined) return undefined;
  if (spec.choices !== undefined && !spec.choices.includes(text)) {
    throw new UsageError(`--${name} is ${JSON.stringify(text)}`, `it is one of ${spec.choices.join(", ")}`);
  }
  if (spec.type === "text") return text;
  return spec.type === "duration" ? readDuration(`--${name}`, text) : readNumber(`--${name}`, text);
}

function readNumber(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new UsageError(`${name} is ${JSON.stringify(text)}, which is not a number`, `write ${name} 5, for example`);
}

/** Milliseconds of `500ms`, `30s` or `2m`; `0` is off. A number alone could be meant either way, and is refused. */
function readDuration(name: string, text: string): number {
  const [, figures, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text) ?? [];
  const factor = units[unit];
  if (figures === undefined || (factor === undefined && Number(figures) !== 0)) {
    throw new UsageError(`${name} is ${JSON.stringify(text)}, which is not a time`, `write ${name} 500ms, 30s or 2m`);
  }
  return Number(figures) * (factor ?? 0);
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };
