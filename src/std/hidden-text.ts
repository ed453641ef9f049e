/** A text that has characters which do not show: people approve one thing, and a model reads another. */
export interface HiddenText {
  /** Where it is: `description`, `inputSchema.properties.q.description`. */
  readonly at: string;
  /** The characters, as `U+202E`, each once. */
  readonly characters: readonly string[];
}

/**
 * Characters that do not show, or change how others show: control characters, with the escape sequences of terminals, zero
 * width, directions, tags, fillers, private use and halves of characters.
 */
export const hidden: RegExp = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u;
const hiddenAll = new RegExp(hidden, "gu");

/** Those that have their place: line ends and tabs, what joins emoji, and what joins letters where scripts need it. */
const harmless =
  /[\n\r\t]|(?<=\p{Emoji})[\ufe0e\ufe0f]|(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})|(?<=(?!\p{Script=Latin})[\p{L}\p{M}])[\u200c\u200d](?=(?!\p{Script=Latin})[\p{L}\p{M}])/gu;

const maxListed = 16;
const maxTexts = 64;
const maxPathChars = 200;

/** The characters of a text that do not show, as `U+202E`, each once and at most 16 of them. */
export function hiddenCharactersIn(text: string): readonly string[] {
  if (!hidden.test(text)) return [];
  const found = text.replaceAll(harmless, "").match(hiddenAll) ?? [];
  return [...new Set(found.map(nameOf))].slice(0, maxListed);
}

function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** All texts in a value as JSON, names of members too, that have such characters; at most 64. */
export function findHiddenText(value: unknown): readonly HiddenText[] {
  const found: HiddenText[] = [];
  const look = (text: string, at: string): void => {
    const characters = hiddenCharactersIn(text);
    if (characters.length > 0 && found.length < maxTexts) found.push({ at, characters });
  };
  const walk = (part: unknown, at: string): void => {
    if (typeof part === "string") look(part, at);
    if (typeof part !== "object" || part === null || found.length >= maxTexts) return;
    for (const [name, member] of Object.entries(part)) {
      const place = placeOf(at, name, Array.isArray(part));
      look(name, place);
      walk(member, place);
    }
  };
  walk(value, "");
  return found;
}

function placeOf(at: string, name: string, isIndex: boolean): string {
  const shown = name.replaceAll(hiddenAll, "");
  const member = at === "" ? shown : `${at}.${shown}`;
  const place = isIndex ? `${at}[${name}]` : member;
  return place.length > maxPathChars ? `${place.slice(0, maxPathChars)}…` : place;
}
