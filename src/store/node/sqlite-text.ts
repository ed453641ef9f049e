/** A text as SQLite keeps it. */
export type Stored = string | Uint8Array;

/** Reading a text ends at its first NUL, so that one that has a NUL is kept as bytes. */
export function storedText(text: string): Stored {
  return text.includes("\0") ? Buffer.from(text) : text;
}

export function textOf(stored: Stored): string {
  return typeof stored === "string" ? stored : bufferOf(stored).toString();
}

/**
 * A name as bytes that sort like its UTF-16 units. The empty one is an empty text, which sorts before all bytes: empty bytes
 * might be taken for null.
 */
export function storedName(name: string): Stored {
  return name === "" ? "" : Buffer.from(name, "utf16le").swap16();
}

export function nameOf(stored: Stored): string {
  return typeof stored === "string" ? stored : Buffer.from(stored).swap16().toString("utf16le");
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
