import { inflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createZip, type ZipFile } from "./zip.ts";

/** Reads an archive by its directory, as programs do. */
function readZip(archive: Uint8Array): readonly ZipFile[] {
  const bytes = Buffer.from(archive);
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  const files: ZipFile[] = [];
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    const [packed, size, nameLength] = [20, 24, 28].map((field, index) =>
      index === 2 ? bytes.readUInt16LE(at + field) : bytes.readUInt32LE(at + field),
    ) as [number, number, number];
    const local = bytes.readUInt32LE(at + 42);
    const path = bytes.subarray(at + 46, at + 46 + nameLength).toString("utf8");
    expect(bytes.subarray(local + 30, local + 30 + nameLength).toString("utf8")).toBe(path);
    const start = local + 30 + nameLength;
    const content = inflateRawSync(bytes.subarray(start, start + packed));
    expect(content.length).toBe(size);
    files.push({
      path,
      bytes: new Uint8Array(content),
      isExecutable: ((bytes.readUInt32LE(at + 38) >>> 16) & 0o111) !== 0,
    });
    at += 46 + nameLength;
  }
  return files;
}

const aFile = fc.record({
  path: fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
  bytes: fc.uint8Array({ maxLength: 300 }),
  isExecutable: fc.boolean(),
});

describe("an archive", () => {
  it("has every file as it was, with its mode", () => {
    fc.assert(
      fc.property(fc.array(aFile, { maxLength: 8 }), (files) => {
        expect(readZip(createZip(files))).toEqual(files);
      }),
    );
  });

  it("has the checksum that everybody computes", () => {
    const bytes = Buffer.from(createZip([{ path: "a", bytes: Buffer.from("123456789"), isExecutable: false }]));
    expect(bytes.readUInt32LE(14)).toBe(0xcbf43926);
  });

  it("says nothing of when and by whom it was made", () => {
    const make = (): Uint8Array => createZip([{ path: "a", bytes: Buffer.from("a"), isExecutable: true }]);
    expect(make()).toEqual(make());
    expect(Buffer.from(make()).readUInt32LE(10)).toBe(0x00210000);
  });

  it("is refused when it has more files than it can count", () => {
    const files = Array.from({ length: 65_536 }, (_, at) => ({
      path: `${at}`,
      bytes: new Uint8Array(),
      isExecutable: false,
    }));
    expect(() => createZip(files)).toThrow(RangeError);
  });
});
