/** A text as it is kept: a long one in pages of a pool. */
export type PooledText = string | PagedText;

interface PagedText {
  readonly pages: readonly Uint8Array[];
  /** How many bytes of the last page are used; the others are full but for what a character did not fit into. */
  readonly ends: readonly number[];
}

/**
 * Keeps long texts as bytes, in pages that are used again when their text is released. The engine keeps strings in its own
 * heap and frees them when it finds the time: many long ones that come and go take several times their size there.
 */
export interface TextPool {
  keep(text: string): PooledText;
  read(kept: PooledText): string;
  /** Call it once, when nobody reads the text any more. */
  release(kept: PooledText): void;
}

/** Bytes cost a little to write and to read: it is worth it from this length on. */
const LONG = 16_384;
const PAGE_BYTES = 16_384;
/** So many pages are left for later texts; others are left to the engine. */
const MAX_FREE = 2_048;
/** Half of a surrogate pair: UTF-8 has no bytes for it. */
const lone = /\p{Surrogate}/u;

const encoder = new TextEncoder();

export function createTextPool(): TextPool {
  const free: Uint8Array[] = [];

  const toPages = (text: string): PagedText => {
    const pages: Uint8Array[] = [];
    const ends: number[] = [];
    for (let from = 0; from < text.length; ) {
      const page = free.pop() ?? new Uint8Array(PAGE_BYTES);
      const { read, written } = encoder.encodeInto(text.slice(from), page);
      from += read;
      pages.push(page);
      ends.push(written);
    }
    return { pages, ends };
  };

  return {
    keep(text) {
      if (text.length >= LONG && !lone.test(text)) return toPages(text);
      // Reading a character makes a text one piece. JSON is put together of many, which take twice the memory.
      text.charCodeAt(0);
      return text;
    },
    read(kept) {
      if (typeof kept === "string") return kept;
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      const parts = kept.pages.map((page, at) => decoder.decode(page.subarray(0, kept.ends[at]), { stream: true }));
      return parts.join("");
    },
    release(kept) {
      if (typeof kept === "string") return;
      for (const page of kept.pages) if (free.length < MAX_FREE) free.push(page);
    },
  };
}
