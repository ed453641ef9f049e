/** Bounds on one JSON text. 0 and `Infinity` switch a bound off. */
export interface JsonLimits {
  /** Nesting of containers. */
  readonly maxJsonDepth: number;
  /** Values in all: members of objects, elements of arrays, and the containers themselves. */
  readonly maxJsonNodes: number;
}

export const defaultJsonLimits: JsonLimits = { maxJsonDepth: 64, maxJsonNodes: 262_144 };

/** Of who waits for responses: lists come in pages of any length. */
export const replyJsonLimits: JsonLimits = { maxJsonDepth: 64, maxJsonNodes: 1_048_576 };

/** How deep a JSON text is nested, and how many values it holds. */
export interface JsonShape {
  readonly depth: number;
  readonly nodes: number;
}

/**
 * Measures a JSON text without building its values, in one pass. Stops soon after a limit is passed: what is returned is
 * beyond the limit then, and not the whole. Of a text that is not JSON it measures something.
 */
export function measureJson(text: string, { maxJsonDepth, maxJsonNodes }: JsonLimits): JsonShape {
  const deepest = maxJsonDepth || Number.POSITIVE_INFINITY;
  const most = maxJsonNodes || Number.POSITIVE_INFINITY;
  let level = 0;
  let depth = 0;
  let nodes = 1;

  for (let at = 0; at < text.length && nodes <= most && depth <= deepest; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case COMMA:
        nodes++;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++level > depth) depth = level;
        if (!isClosing(text, at + 1)) nodes++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        level--;
        break;
    }
  }
  return { depth, nodes };
}

/** The place of the quote that ends the string which begins at `start`. */
function endOfString(text: string, start: number): number {
  let end = start;
  do {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
  } while (isEscaped(text, end));
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

/** Whether a container ends here before it holds anything. */
function isClosing(text: string, start: number): boolean {
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
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
