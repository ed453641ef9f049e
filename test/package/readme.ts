import { readFileSync } from "node:fs";

/** A complete program of the README: every `ts` block but fragments, and but members of a definition, such as `run:`. */
export interface Program {
  /** What the first line says, as in `// calc.ts`; else what it exports, else where it stands. */
  readonly file: string;
  readonly code: string;
}

export function readPrograms(page: string): readonly Program[] {
  const text = readFileSync(page, "utf8");
  return [...text.matchAll(/^```ts\b(.*)\n((?:.*\n)*?)```$/gm)].flatMap(({ 1: words = "", 2: code = "", index }) => {
    if (/\bfragment\b/.test(words) || /^\w+:/.test(code)) return [];
    const line = text.slice(0, index).split("\n").length;
    const named = /^\/\/ (\S+\.ts)\b/.exec(code)?.[1];
    const exported = /^export const (\w+)/m.exec(code)?.[1];
    return [{ file: named ?? `${exported ?? `line-${line}`}.ts`, code }];
  });
}

/** True for programs that only run where Node's own types are installed. */
export function needsNodeTypes({ code }: Program): boolean {
  return /\bprocess\.|\bBuffer\b|"node:/.test(code);
}

/** True for programs that go on until they are ended. */
export function isServer({ code }: Program): boolean {
  return /\bserveHttp\(|\.listen\(/.test(code);
}

const portOf = /(?<=\bport: |\b127\.0\.0\.1:|\blocalhost:|\.listen\()\d+/g;

/** The ports that programs listen at or connect to. */
export function portsIn(programs: readonly Program[]): readonly string[] {
  return [...new Set(programs.flatMap(({ code }) => code.match(portOf) ?? []))];
}

/** The same program with other ports. */
export function withPorts({ file, code }: Program, ports: ReadonlyMap<string, number>): Program {
  return { file, code: code.replaceAll(portOf, (port) => String(ports.get(port) ?? port)) };
}
