/** Bytes that belong together and come in parts. */
export interface ByteBuffer {
  readonly size: number;
  append(part: Uint8Array): void;
  bytes(): Uint8Array;
  clear(): void;
}

/** Up to `maxBytes` in one piece that grows by doubling, so that tiny parts cost neither time nor memory each. */
export function createByteBuffer(maxBytes: number): ByteBuffer {
  let store = new Uint8Array(initialBytes);
  let size = 0;

  return {
    get size() {
      return size;
    },
    append(part) {
      const needed = size + part.length;
      if (needed > store.length) {
        const larger = new Uint8Array(Math.max(needed, Math.min(2 * store.length, maxBytes)));
        larger.set(store.subarray(0, size));
        store = larger;
      }
      store.set(part, size);
      size = needed;
    },
    bytes: () => store.subarray(0, size),
    clear() {
      size = 0;
      if (store.length > keptBytes) store = new Uint8Array(initialBytes);
    },
  };
}

const initialBytes = 1024;
/** A buffer that grew beyond this is given back when it is cleared. */
const keptBytes = 131_072;
