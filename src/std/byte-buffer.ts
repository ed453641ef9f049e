/**
 * Bytes that belong together and come in parts: up to `maxBytes`, in one piece that grows by doubling, so that tiny parts
 * cost neither time nor memory each.
 */
export class ByteBuffer {
  size = 0;
  readonly #maxBytes: number;
  #store = nothing;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  append(part: Uint8Array): void {
    const needed = this.size + part.length;
    if (needed > this.#store.length) this.#grow(needed);
    this.#store.set(part, this.size);
    this.size = needed;
  }

  bytes(): Uint8Array {
    return this.#store.subarray(0, this.size);
  }

  clear(): void {
    this.size = 0;
    if (this.#store.length > keptBytes) this.#store = nothing;
  }

  #grow(needed: number): void {
    const doubled = Math.max(initialBytes, 2 * this.#store.length);
    const larger = new Uint8Array(Math.max(needed, Math.min(doubled, this.#maxBytes)));
    larger.set(this.bytes());
    this.#store = larger;
  }
}

/** Most streams are read without keeping anything. */
const nothing = new Uint8Array(0);
const initialBytes = 1024;
/** A buffer that grew beyond this is given back when it is cleared. */
const keptBytes = 131_072;
