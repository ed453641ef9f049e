/** The end of a long text, in bounded memory. */
export interface TextTail {
  append(text: string): void;
  /** The last lines. Never begins in the middle of a character. */
  text(): string;
}

export interface TailLimits {
  readonly maxChars: number;
  readonly maxLines: number;
}

export function createTextTail({ maxChars, maxLines }: TailLimits): TextTail {
  let kept = "";

  return {
    append(text) {
      kept += text;
      // Cutting once per `maxChars` keeps a flood of tiny writes cheap.
      if (kept.length > 2 * maxChars) kept = lastChars(kept, maxChars);
    },
    text: () => lastLines(lastChars(kept, maxChars), maxLines),
  };
}

/** The last `count` UTF-16 units of a text, one less if that would halve a character. */
export function lastChars(text: string, count: number): string {
  if (text.length <= count) return text;
  const start = text.length - count;
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start);
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function lastLines(text: string, count: number): string {
  const afterLast = text.endsWith("\n") ? 1 : 0;
  return text
    .split("\n")
    .slice(-(count + afterLast))
    .join("\n");
}
