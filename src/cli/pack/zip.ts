import { deflateRawSync } from "node:zlib";

/** A file of an archive. */
export interface ZipFile {
  /** Its path in the archive, with slashes. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
}

/**
 * A ZIP archive with these files, in their order. The same files give the same bytes: times and owners are left out.
 * Throws a {@link RangeError} for what only ZIP64 could hold.
 */
export function createZip(files: readonly ZipFile[]): Uint8Array {
  if (files.length > max16) throw new RangeError(`an archive of ${files.length} files is too large`);
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const file of files) {
    const name = Buffer.from(file.path, "utf8");
    const deflated = deflateRawSync(file.bytes, { level: 9 });
    const entry = entryOf(file, name, deflated);
    const local = Buffer.concat([numbers([4, localSignature]), entry, numbers([2, 0]), name]);
    parts.push(local, deflated);
    directory.push(directoryRecord(file, { name, entry, offset }));
    offset += local.length + deflated.length;
    if (offset > max32) throw new RangeError("an archive of more than 4 GiB is too large");
  }
  const listed = Buffer.concat(directory);
  return Buffer.concat([...parts, listed, endRecord(files.length, listed.length, offset)]);
}

/** What the record before a file and the record in the directory have in common, up to the length of the name. */
function entryOf({ bytes }: ZipFile, name: Uint8Array, deflated: Uint8Array): Uint8Array {
  const sizes: Fields = [
    [4, crc32(bytes)],
    [4, deflated.length],
    [4, bytes.length],
    [2, name.length],
  ];
  return numbers([2, version], [2, utf8], [2, deflate], [2, 0], [2, firstDay], ...sizes);
}

interface Placed {
  readonly name: Uint8Array;
  readonly entry: Uint8Array;
  readonly offset: number;
}

function directoryRecord({ isExecutable }: ZipFile, { name, entry, offset }: Placed): Uint8Array {
  const mode = (isExecutable ? 0o100755 : 0o100644) * 0x10000;
  const nothing: Fields = [
    [2, 0],
    [2, 0],
    [2, 0],
    [2, 0],
  ];
  return Buffer.concat([
    numbers([4, directorySignature], [2, madeOnUnix]),
    entry,
    numbers(...nothing, [4, mode], [4, offset]),
    name,
  ]);
}

function endRecord(count: number, length: number, offset: number): Uint8Array {
  return numbers([4, endSignature], [2, 0], [2, 0], [2, count], [2, count], [4, length], [4, offset], [2, 0]);
}

type Fields = readonly (readonly [bytes: 2 | 4, value: number])[];

/** Numbers of two or four bytes, the lowest byte first. */
function numbers(...fields: Fields): Uint8Array {
  const buffer = Buffer.alloc(fields.reduce((sum, [bytes]) => sum + bytes, 0));
  let at = 0;
  for (const [bytes, value] of fields)
    at = bytes === 2 ? buffer.writeUInt16LE(value, at) : buffer.writeUInt32LE(value, at);
  return buffer;
}

/** The checksum of a ZIP; `node:zlib` has one only in newer releases of Node. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

const crcTable = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

const [localSignature, directorySignature, endSignature] = [0x04034b50, 0x02014b50, 0x06054b50];
const [version, utf8, deflate, firstDay, madeOnUnix] = [20, 0x0800, 8, 0x0021, 0x0314];
const [max16, max32] = [0xffff, 0xffffffff];
