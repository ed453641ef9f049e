import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import { createLineSplitter, type Line, type LineOptions } from "./lines.ts";

const tooLong = (head: string) => ({ kind: "too-long" as const, head });
const invalidUtf8 = { kind: "invalid-utf8" };

describe("createLineSplitter", () => {
  it.each<[name: string, input: string, lines: readonly string[]]>([
    ["one line", "a\n", ["a"]],
    ["several lines", "a\nbc\nd\n", ["a", "bc", "d"]],
    ["an unterminated last line is no line", "a\nb", ["a"]],
    ["C88: one carriage return is stripped", "a\r\nb\r\r\nc\rd\n", ["a", "b\r", "c\rd"]],
    ["C88: blank lines are skipped", "\n\r\na\n\n\nb\n\r\n", ["a", "b"]],
    ["a byte order mark before the first line", "\uFEFFa\n", ["a"]],
    ["a byte order mark alone", "\uFEFF\na\n", ["a"]],
    ["a byte order mark elsewhere is text", "\n\uFEFFa\n", ["\uFEFFa"]],
    ["only one byte order mark is stripped", "\uFEFF\uFEFFa\n", ["\uFEFFa"]],
    ["characters of two, three and four bytes", "é\n語\n😀\n", ["é", "語", "😀"]],
    ["nothing", "", []],
  ])("%s", (_name, input, lines) => {
    const bytes = new TextEncoder().encode(input);
    expect(split([bytes])).toEqual(lines);
    expect(split(pieces(bytes, 1))).toEqual(lines);
  });

  it("refuses only the line that is not UTF-8", () => {
    const bytes = Uint8Array.of(0x61, LF, 0xff, 0xfe, LF, 0x62, LF, 0xc3, LF, 0xa9, LF, 0x63, LF);
    const lines = ["a", invalidUtf8, "b", invalidUtf8, invalidUtf8, "c"];
    expect(split([bytes])).toEqual(lines);
    expect(split(pieces(bytes, 1))).toEqual(lines);
  });

  it("C89: reports a line that is too long once, when the limit is passed, and goes on behind it", () => {
    const splitter = createLineSplitter({ maxBytes: 4 });
    expect(splitter.push(encode("abc"))).toEqual([]);
    expect(splitter.push(encode("d"))).toEqual([]);
    expect(splitter.push(encode("e"))).toEqual([tooLong("abcd")]);
    expect(splitter.push(encode("fgh"))).toEqual([]);
    expect(splitter.push(encode("ijk\nfour\nfive!\nsix\n"))).toEqual(["four", tooLong("five"), "six"]);
  });

  it("has a limit of 16 MiB unless told otherwise, and none for 0", () => {
    const line = new Uint8Array(16_777_217).fill(0x61);
    expect(split([line, Uint8Array.of(LF)])).toEqual([tooLong("a".repeat(256))]);
    expect(split([line.subarray(1), Uint8Array.of(LF)]).map(lengthOf)).toEqual([16_777_216]);
    expect(split([line, Uint8Array.of(LF)], { maxBytes: 0 }).map(lengthOf)).toEqual([16_777_217]);
  });

  it("does not keep a view of the chunk", () => {
    const splitter = createLineSplitter();
    const chunk = encode("abc");
    splitter.push(chunk);
    chunk.fill(0x7a);
    expect(splitter.push(encode("\n"))).toEqual(["abc"]);
  });

  it("gives the same lines however the bytes are cut, and never throws", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(12)), fc.integer({ min: 0, max: 9 }), (bytes, cuts, maxBytes) => {
        expect(split(cut(bytes, cuts), { maxBytes })).toEqual(expected(bytes, maxBytes));
      }),
      { numRuns: 3000 },
    );
  });

  it("needs time in proportion to the bytes, not to the pieces", () => {
    const bytes = new Uint8Array(4_000_000).fill(0x61);
    const whole = timed(() => split([bytes, Uint8Array.of(LF)]));
    const inPieces = timed(() => split([...pieces(bytes, 256), Uint8Array.of(LF)]));
    expect(inPieces).toBeLessThan(20 * whole + 100);
  });
});

const LF = 10;

/** Bytes in which line feeds, carriage returns, byte order marks and broken characters are common. */
const stream = fc
  .array(fc.constantFrom<readonly number[]>([LF], [LF], [13], [0x61], [0xc3, 0xa9], [0xef, 0xbb, 0xbf], [0xff], [0xe2]))
  .map((parts) => Uint8Array.from(parts.flat()));

/** The same contract, said without any regard to speed. */
function expected(bytes: Uint8Array, maxBytes: number): readonly Line[] {
  const lines: Line[] = [];
  let rest = bytes;
  for (let first = true; rest.length > 0; first = false) {
    const end = rest.indexOf(LF);
    const line = rest.subarray(0, end < 0 ? rest.length : end);
    if (maxBytes > 0 && line.length > maxBytes) lines.push(tooLong(latin1(line.subarray(0, maxBytes))));
    else if (end >= 0) lines.push(read(line, first));
    rest = rest.subarray(line.length + 1);
  }
  return lines.filter((line) => line !== "");
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function read(line: Uint8Array, first: boolean): Line {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: !first }).decode(line);
    return text.replace(/\r$/, "");
  } catch {
    return { kind: "invalid-utf8" };
  }
}

function split(chunks: readonly Uint8Array[], options?: LineOptions): readonly Line[] {
  const splitter = createLineSplitter(options);
  return chunks.flatMap((chunk) => splitter.push(chunk));
}

function pieces(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}

function cut(bytes: Uint8Array, sizes: readonly number[]): readonly Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let start = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(start, start + size));
    start += size;
  }
  return [...chunks, bytes.subarray(start)];
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function lengthOf(line: Line): number {
  return typeof line === "string" ? line.length : -1;
}

function timed(work: () => unknown): number {
  const spent = startCpuTime();
  work();
  return spent();
}
