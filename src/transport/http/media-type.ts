const token = String.raw`[!#$%&'*+.^_\x60|~\w-]+`;
const otherParameter = String.raw`(?!charset=)${token}=(?:${token}|"(?:[^"\\]|\\.)*")`;
const parameter = `(?:charset=(?:utf-8|"utf-8")|${otherParameter})`;

/** Has only one way to match any text, so its time is linear. */
const jsonType = new RegExp(`^application/json[ \\t]*(?:;[ \\t]*(?:${parameter}[ \\t]*)?)*$`, "i");

/**
 * Whether a Content-Type is `application/json`. Parameters may follow; a charset
 * has to be utf-8. A page of another origin cannot send this type unasked.
 */
export function isJsonType(contentType: string | undefined): boolean {
  return contentType === "application/json" || (contentType !== undefined && jsonType.test(contentType));
}

/** What the body of an answer can be. */
export type AnswerType = "application/json" | "text/event-stream";

/** What nearly every client sends. Each takes answers of any type. */
const common: ReadonlySet<string> = new Set([
  "application/json, text/event-stream",
  "application/json,text/event-stream",
  "text/event-stream, application/json",
  "text/event-stream,application/json",
  "*/*",
]);

/**
 * Whether an Accept header takes all of these types.
 *
 * As in RFC 9110, the most specific range decides, `q=0` excludes, and without
 * the header everything is taken. Other parameters of a range are ignored.
 */
export function accepts(accept: string | undefined, ...types: readonly AnswerType[]): boolean {
  if (accept === undefined || common.has(accept)) return true;
  const ranges = parseRanges(accept);
  return types.every((type) => {
    const wider = `${type.slice(0, type.indexOf("/"))}/*`;
    return ranges.get(type) ?? ranges.get(wider) ?? ranges.get("*/*") ?? false;
  });
}

/** Media ranges, and whether each is wanted. */
function parseRanges(accept: string): ReadonlyMap<string, boolean> {
  const ranges = new Map<string, boolean>();
  for (const item of accept.toLowerCase().split(",")) {
    const [range = "", ...parameters] = item.split(";").map((part) => part.trim());
    ranges.set(range, ranges.get(range) === true || weightOf(parameters) > 0);
  }
  return ranges;
}

/** NaN when it is no number. */
function weightOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return weight === undefined ? 1 : Number(weight.slice(2));
}
