// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in configuration files look like that
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import { parseEnvFile } from "./resolve-server.ts";

function valuesOf(text: string): unknown {
  return Object.fromEntries(
    parseEnvFile(text).map((line) => (line.ok ? [line.name, line.value] : [line.line, line.problem])),
  );
}

describe("parseEnvFile", () => {
  it.each([
    ["A=1\nB=2", { A: "1", B: "2" }],
    ["  export A = x y  \r\n\r\n# no\r\nB=", { A: "x y", B: "" }],
    ["A=a#b # c", { A: "a#b" }],
    [`A="x # y" # z\nB='a\\n"b'`, { A: "x # y", B: 'a\\n"b' }],
    [`A="a\\n\\t\\"b\\" \\\\ \\x"`, { A: 'a\n\t"b" \\ \\x' }],
    [`A="one\ntwo"\nB=3`, { A: "one\ntwo", B: "3" }],
    ["A=$(rm -rf /) ${HOME} `id`", { A: "$(rm -rf /) ${HOME} `id`" }],
    ["A=1\nA=2", { A: "2" }],
    ["", {}],
  ])("reads %j", (text, values) => {
    expect(valuesOf(text)).toEqual(values);
  });

  it.each([
    ["A=1\nnonsense\nB=2", { A: "1", 2: "this line is not NAME=value", B: "2" }],
    ['A="open\nB=2', { 1: "this line is not NAME=value", B: "2" }],
    ["1A=2", { 1: "this line is not NAME=value" }],
    ['A="x" y', { 1: "this line is not NAME=value" }],
  ])("tells which line of %j it does not understand, and not what is in it", (text, values) => {
    expect(valuesOf(text)).toEqual(values);
  });

  it("counts lines right after texts that go over several", () => {
    expect(parseEnvFile('A="1\n2\n3"\n\nB=1\r\nC=1\rD=1').map(({ line }) => line)).toEqual([1, 5, 6, 7]);
  });

  it("keeps __proto__ a name like any other", () => {
    expect(parseEnvFile("__proto__=x")).toEqual([{ ok: true, line: 1, name: "__proto__", value: "x" }]);
  });

  it("reads back whatever is quoted", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii" }), (value) => {
        const quoted = value
          .replaceAll("\\", "\\\\")
          .replaceAll('"', '\\"')
          .replaceAll("\n", "\\n")
          .replaceAll("\r", "\\r");
        expect(parseEnvFile(`A="${quoted}"`)).toEqual([{ ok: true, line: 1, name: "A", value }]);
      }),
    );
  });

  it("ends for every text, in time", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("A", "=", '"', "'", "#", " ", "\n", "\r", "\\") }),
        (text) => void parseEnvFile(text),
      ),
    );
    const spent = startCpuTime();
    for (const text of [" ".repeat(200_000), `A=${" ".repeat(200_000)}"`, `A="${"\\".repeat(200_000)}`])
      parseEnvFile(text);
    expect(spent()).toBeLessThan(2_000);
  });
});
