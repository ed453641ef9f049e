import { isUtf8 } from "node:buffer";

/** The text of bytes that came in pieces; undefined when they are not valid UTF-8. Takes the pieces out of the array. */
export function takeText(pieces: Buffer[], size: number): string | undefined {
  const bytes = size > MANY_BYTES ? [joinPieces(pieces.splice(0), size)] : pieces.reverse();
  const texts: string[] = [];
  let rest: Buffer | undefined;
  for (let piece = bytes.pop(); piece !== undefined; piece = bytes.pop()) {
    const begun: Buffer = rest === undefined ? piece : Buffer.concat([rest, piece]);
    const end = bytes.length === 0 ? begun.length : endOfWholeCharacters(begun);
    rest = end < begun.length ? begun.subarray(end) : undefined;
    const whole = rest === undefined ? begun : begun.subarray(0, end);
    if (!isUtf8(whole)) return undefined;
    texts.push(whole.toString("utf8"));
  }
  return texts.join("");
}

/** More are joined before they become text: pieces of text outlive the young generation, and make it grow. Fewer never are one copy more. */
const MANY_BYTES = 1_048_576;

/** The bytes of all pieces in a row, until the next call: the same memory is used again. */
function joinPieces(pieces: readonly Buffer[], size: number): Buffer {
  const room = roomFor(size);
  let end = 0;
  for (const piece of pieces) end += piece.copy(room, end);
  return room.subarray(0, end);
}

/** Memory of its own for each body would be garbage at once, megabytes of it. What is kept, the garbage collector may have. */
let kept: WeakRef<Buffer> | undefined;

function roomFor(size: number): Buffer {
  const room = kept?.deref();
  if (room !== undefined && room.length >= size) return room;
  const larger = Buffer.allocUnsafeSlow(size);
  kept = new WeakRef(larger);
  return larger;
}

/** Where the last character begins if bytes of it are missing, else the end. */
function endOfWholeCharacters(bytes: Buffer): number {
  for (let at = bytes.length - 1; at >= 0 && at > bytes.length - LONGEST; at--) {
    const first = bytes[at] as number;
    if (first < 0x80) break;
    if (first >= 0xc0) return at + lengthOf(first) > bytes.length ? at : bytes.length;
  }
  return bytes.length;
}

/** Bytes of the longest character. */
const LONGEST = 4;

function lengthOf(first: number): number {
  if (first >= 0xf0) return 4;
  return first >= 0xe0 ? 3 : 2;
}
