import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startCpuTime } from "../../test/support/cpu-time.ts";
import { createSseParser, type SseItem, type SseOptions, sseComment, sseEvent } from "./sse.ts";

const message = (data: string, more: object = {}) => ({ kind: "event", event: "message", data, ...more });
const tooLarge = { kind: "too-large" };

describe("sseEvent", () => {
  it.each([
    [{ data: "{}" }, "data: {}\n\n"],
    [{ data: "{}", id: "7" }, "id: 7\ndata: {}\n\n"],
    [{ data: "{}", id: "7", event: "e", retry: 500 }, "id: 7\nevent: e\nretry: 500\ndata: {}\n\n"],
    [{ data: "", id: "7" }, "id: 7\ndata: \n\n"],
    [{ data: "a\nb\r\nc\rd" }, "data: a\ndata: b\ndata: c\ndata: d\n\n"],
    [{ data: "a\n\nid: 1\n\r" }, "data: a\ndata: \ndata: id: 1\ndata: \ndata: \n\n"],
  ])("writes %j", (frame, text) => {
    expect(sseEvent(frame)).toBe(text);
  });

  it.each(["a\nb", "a\rb", "a\0b", "\n", "a\n"])("refuses %j as an id and as a name (V18)", (text) => {
    expect(() => sseEvent({ data: "", id: text })).toThrow(TypeError);
    expect(() => sseEvent({ data: "", event: text })).toThrow(TypeError);
  });
});

describe("sseComment", () => {
  it.each([
    ["", ": \n\n"],
    ["alive", ": alive\n\n"],
    ["a\ndata: b\r\n\rc", ": a\n: data: b\n: \n: c\n\n"],
  ])("writes %j", (text, comment) => {
    expect(sseComment(text)).toBe(comment);
    expect(parse([encode(comment)])).toEqual([]);
  });
});

describe("createSseParser", () => {
  it.each<[name: string, stream: string, items: readonly object[]]>([
    ["one event", "data: a\n\n", [message("a")]],
    ["several events", "data: a\n\ndata: b\n\n\ndata: c\n\n", [message("a"), message("b"), message("c")]],
    ["only the first space is no data", "data:a\n\ndata:  a\n\n", [message("a"), message(" a")]],
    ["colons in a value", "data: a: b:\n\n", [message("a: b:")]],
    ["data of several lines", "data: a\ndata\ndata: b\n\n", [message("a\n\nb")]],
    ["data of two empty lines", "data\ndata\n\n", [message("\n")]],
    ["CR", "data: a\rdata: b\r\r", [message("a\nb")]],
    ["CRLF", "data: a\r\ndata: b\r\n\r\n", [message("a\nb")]],
    [
      "all line ends mixed",
      "data: a\r\n\ndata: b\n\rdata: c\r\r\ndata: d\n\r\n",
      "abcd".split("").map((it) => message(it)),
    ],
    ["comments", ": x\n\n:\ndata: a\n:data: b\n: \n\n", [message("a")]],
    ["unknown fields", "x: 1\nDATA: b\n data: c\ndata : d\ndata: a\nx\n\n", [message("a")]],
    ["a byte order mark before the first line", "\uFEFFdata: a\n\n", [message("a")]],
    ["a byte order mark alone in a line", "\uFEFF\ndata: a\n\n", [message("a")]],
    ["a byte order mark elsewhere is text", "\n\uFEFFdata: a\ndata: \uFEFFb\n\n", [message("\uFEFFb")]],
    ["characters of two, three and four bytes", "data: é語😀\n\n", [message("é語😀")]],
    ["names", "event: e\ndata: a\n\ndata: b\n\n", [message("a", { event: "e" }), message("b")]],
    ["an empty name", "event: e\nevent\ndata: a\n\n", [message("a")]],
    [
      "ids",
      "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
      [message("a", { id: "1" }), message("b"), message("c", { id: "" })],
    ],
    ["an id with NUL is ignored", "id: 1\nid: 2\0\ndata: a\n\n", [message("a", { id: "1" })]],
    ["an id without data", "id: 1\n\n", [{ kind: "id", id: "1" }]],
    [
      "an id with empty data",
      "id: 1\ndata: \n\nid: 2\ndata\n\n",
      [
        { kind: "id", id: "1" },
        { kind: "id", id: "2" },
      ],
    ],
    ["empty data is no message", "data\n\ndata:\n\nevent: e\n\n", []],
    [
      "retry",
      "retry: 500\n\nretry: 0\ndata: a\n\n",
      [{ kind: "retry", ms: 500 }, { kind: "retry", ms: 0 }, message("a")],
    ],
    ["retry of other things than digits", "retry: -1\nretry: 1.5\nretry: 1e3\nretry\nretry:  1\nretry: ١\n\n", []],
    ["retry without bounds", `retry: ${"9".repeat(400)}\n\n`, [{ kind: "retry", ms: Number.MAX_SAFE_INTEGER }]],
    ["an event that does not end", "data: a\n\nid: 1\ndata: b\n", [message("a")]],
    ["a line that does not end", "data: a\n\ndata: b", [message("a")]],
    ["retry in an event that does not end", "id: 1\nretry: 5\nretry: 67", [{ kind: "retry", ms: 5 }]],
    ["nothing", "", []],
  ])("%s", (_name, stream, items) => {
    const bytes = encode(stream);
    expect(parse([bytes])).toEqual(items);
    expect(parse(pieces(bytes, 1))).toEqual(items);
  });

  it("replaces only what is not UTF-8", () => {
    const bytes = Uint8Array.of(...encode("data: a"), 0xff, 0xc3, LF, ...encode("data: b\n\n"));
    expect(parse([bytes])).toEqual([message("a\uFFFD\uFFFD\nb")]);
    expect(parse(pieces(bytes, 1))).toEqual([message("a\uFFFD\uFFFD\nb")]);
  });

  it("gives an event as soon as its blank line begins", () => {
    const parser = createSseParser();
    expect(parser.push(encode("data: a\r\n\r"))).toEqual([message("a")]);
    expect(parser.push(encode("\n"))).toEqual([]);
    expect(parser.push(encode("data: b\n"))).toEqual([]);
    expect(parser.push(encode("\n"))).toEqual([message("b")]);
  });

  it("reports an event that is too large once, when the limit is passed, and goes on behind it", () => {
    const parser = createSseParser({ maxEventBytes: 10 });
    expect(parser.push(encode("data: 78"))).toEqual([]);
    expect(parser.push(encode("90"))).toEqual([]);
    expect(parser.push(encode("1"))).toEqual([tooLarge]);
    expect(parser.push(encode("2\nid: 1\nretry: 5\n"))).toEqual([]);
    expect(parser.push(encode("\ndata: 78\n\ndata: 789\n\ndata:b\n\n"))).toEqual([
      message("78"),
      tooLarge,
      message("b"),
    ]);
  });

  it("counts all lines of an event", () => {
    expect(parse([encode("data: 1\ndata: 2\n\n")], { maxEventBytes: 17 })).toEqual([message("1\n2")]);
    expect(parse([encode("data: 1\ndata: 2\n\n")], { maxEventBytes: 16 })).toEqual([tooLarge]);
  });

  it("has a limit of 16 MiB unless told otherwise, and none for 0", () => {
    const event = encode(`data:${"a".repeat(16_777_209)}\n\n`);
    const stream = [event, encode("data:b"), event];
    expect(parse([event]).map(lengthOf)).toEqual([16_777_209]);
    expect(parse([encode("x\n"), event])).toEqual([tooLarge]);
    expect(parse(stream, { maxEventBytes: 0 }).map(lengthOf)).toEqual([16_777_209, 16_777_215]);
  });

  it("does not keep a view of the chunk, and does not change it", () => {
    const parser = createSseParser();
    const chunk = Buffer.from("id: 1\r\ndata: abc");
    parser.push(chunk);
    expect(chunk.toString()).toBe("id: 1\r\ndata: abc");
    chunk.fill(0x7a);
    expect(parser.push(encode("\r\n\r\n"))).toEqual([message("abc", { id: "1" })]);
  });

  it("gives the same items however the bytes are cut, and never throws", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(12)), fc.integer({ min: 0, max: 30 }), (bytes, cuts, maxEventBytes) => {
        expect(parse(cut(bytes, cuts), { maxEventBytes })).toEqual(expected(bytes, maxEventBytes));
      }),
      { numRuns: 5000 },
    );
  });

  it("reads what sseEvent writes", () => {
    const frames = fc.array(
      fc.record({ data: text, id: line, event: line, retry: fc.nat() }, { requiredKeys: ["data"] }),
    );
    fc.assert(
      fc.property(frames, fc.array(fc.nat(12)), (written, cuts) => {
        const bytes = encode(written.map((frame) => sseComment(frame.data) + sseEvent(frame)).join(""));
        expect(parse(cut(bytes, cuts))).toEqual(written.flatMap(asItems));
      }),
    );
  });

  it("needs time in proportion to the bytes, not to the pieces", () => {
    const bytes = encode(`data: ${"a".repeat(4_000_000)}\n\n`);
    const whole = timed(() => parse([bytes]));
    const inPieces = timed(() => parse(pieces(bytes, 256)));
    expect(inPieces).toBeLessThan(20 * whole + 100);
  });
});

const LF = 10;

/** Bytes in which line ends, fields, byte order marks and broken characters are common. */
const stream = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("\n", "\n", "\r", "\r\n", "\n\n", "\r\n\r\n") },
      { weight: 3, arbitrary: fc.constantFrom("data: ", "data:", "data", "id: ", "event:", "retry: ", ":") },
      { weight: 2, arbitrary: fc.constantFrom("a", " ", "1", "\0", "é", "😀", "\uFEFF", "\xff", "\xc3") },
    ),
  )
  .map((parts) =>
    Uint8Array.from(parts.flatMap((part) => [...(/[\xc3\xff]/.test(part) ? latin1(part) : encode(part))])),
  );

/** The same contract, said without any regard to speed or to pieces. */
function expected(bytes: Uint8Array, maxEventBytes: number): readonly SseItem[] {
  const text = String.fromCharCode(...bytes).replaceAll(/\r\n?/g, "\n");
  const blocks = text.split(/(?<=^\n|\n\n)/);
  return blocks.flatMap((block, index) => {
    if (maxEventBytes > 0 && block.length > maxEventBytes) return [{ kind: "too-large" as const }];
    const decoded = new TextDecoder("utf-8", { ignoreBOM: index > 0 }).decode(latin1(block));
    const items = itemsOf(decoded.split("\n").slice(0, -1));
    return block.endsWith("\n\n") || block === "\n" ? items : items.filter((item) => item.kind === "retry");
  });
}

function itemsOf(lines: readonly string[]): readonly SseItem[] {
  const fields = lines.map((line) => /^([^:]*):? ?(.*)$/s.exec(line) ?? []);
  const valuesOf = (name: string) => fields.flatMap(([, field, value = ""]) => (field === name ? [value] : []));
  const data = valuesOf("data").join("\n");
  const id = valuesOf("id").findLast((value) => !value.includes("\0"));
  const retries = valuesOf("retry").filter((value) => /^[0-9]+$/.test(value));
  return [
    ...retries.map((value) => ({ kind: "retry" as const, ms: Number(value) })),
    ...asItem(data, valuesOf("event").at(-1), id),
  ];
}

function asItem(data: string, event: string | undefined, id: string | undefined): readonly SseItem[] {
  const stated = id === undefined ? {} : { id };
  if (data !== "") return [{ kind: "event", event: event || "message", data, ...stated }];
  return id === undefined ? [] : [{ kind: "id", id }];
}

const text = fc
  .string({ unit: fc.oneof(fc.constantFrom("\n", "\r", " ", ":", "é", "😀"), fc.string()) })
  .map(wellFormed);
const line = text.map((value) => value.replaceAll(/[\0\r\n]/g, ""));

function asItems(frame: { data: string; id?: string; event?: string; retry?: number }): readonly SseItem[] {
  const retry = frame.retry === undefined ? [] : [{ kind: "retry" as const, ms: frame.retry }];
  return [...retry, ...asItem(frame.data.replaceAll(/\r\n?/g, "\n"), frame.event, frame.id)];
}

function wellFormed(value: string): string {
  return value.toWellFormed();
}

function parse(chunks: readonly Uint8Array[], options?: SseOptions): readonly SseItem[] {
  const parser = createSseParser(options);
  return [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.end()];
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

function latin1(value: string): Uint8Array {
  return Uint8Array.from(value, (character) => character.charCodeAt(0));
}

function encode(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

function lengthOf(item: SseItem): number {
  return item.kind === "event" ? item.data.length : -1;
}

function timed(work: () => unknown): number {
  const spent = startCpuTime();
  work();
  return spent();
}
