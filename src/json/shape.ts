/** Limits on one JSON text. 0 and `Infinity` disable a limit. */
export interface JsonLimits {
  /** Nesting depth of objects and arrays. */
  readonly maxJsonDepth: number;
  /** Number of values in total: members of objects, elements of arrays, and the containers themselves. */
  readonly maxJsonNodes: number;
}

export const defaultJsonLimits: JsonLimits = { maxJsonDepth: 64, maxJsonNodes: 262_144 };

/** Limits for responses. They allow more values than requests do, because the server chooses the length of a list page. */
export const replyJsonLimits: JsonLimits = { maxJsonDepth: 64, maxJsonNodes: 1_048_576 };

/** The nesting depth of a JSON text and the number of its values. */
export interface JsonShape {
  readonly depth: number;
  readonly nodes: number;
}

/**
 * Measures a JSON text in one pass, without building its values. Stops soon after a limit is exceeded: the returned
 * number is then above the limit but not the total. The result for a text that is not valid JSON is unspecified.
 */
export function measureJson(text: string, { maxJsonDepth, maxJsonNodes }: JsonLimits): JsonShape {
  const depthLimit = maxJsonDepth || Number.POSITIVE_INFINITY;
  const nodeLimit = maxJsonNodes || Number.POSITIVE_INFINITY;
  let level = 0;
  let depth = 0;
  let nodes = 1;

  for (let index = 0; index < text.length && nodes <= nodeLimit && depth <= depthLimit; index++) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        index = endOfString(text, index);
        break;
      case COMMA:
        nodes++;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++level > depth) depth = level;
        if (!isClosing(text, index + 1)) nodes++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        level--;
        break;
    }
  }
  return { depth, nodes };
}

/** Index of the quote that closes the string opened at `start`, or the length of the text when it is not closed. */
function endOfString(text: string, start: number): number {
  let end = start;
  do {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
  } while (isEscaped(text, end));
  return end;
}

function isEscaped(text: string, index: number): boolean {
  let first = index;
  while (text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (index - first) % 2 === 1;
}

/** Whether the container opened before `start` is empty. */
function isClosing(text: string, start: number): boolean {
  for (let index = start; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > SPACE) return code === CLOSE_BRACE || code === CLOSE_BRACKET;
  }
  return true;
}

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
