import { McpError } from "../../../model/errors.ts";

export type Headers = Readonly<Record<string, string>>;

/** Headers to send with every request: what they are, or how to find out. */
export type HeaderSource = Headers | (() => Headers | Promise<Headers>);

/** What the protocol, or the platform, decides. */
const reserved: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "connection",
  "content-length",
  "content-type",
  "host",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "transfer-encoding",
]);

/**
 * Headers of the user, by their names in lower case, without those that are not
 * up to the user. Throws `invalid-params` for what no header can be; the message
 * never has the value, which may be secret.
 */
export function readHeaders(given: Headers): Headers {
  const entries = Object.entries(given).map(([name, value]) => [name.toLowerCase(), checked(name, value)] as const);
  return Object.fromEntries(entries.filter(([name]) => !reserved.has(name) && !name.startsWith("mcp-param-")));
}

/** Like {@link readHeaders}, for headers that are asked for anew. A source that fails, fails the request. */
export async function askHeaders(source: () => Headers | Promise<Headers>): Promise<Headers> {
  try {
    return readHeaders(await source());
  } catch (cause) {
    if (cause instanceof McpError) throw cause;
    throw new McpError("internal", "the headers for the request could not be found out", { cause });
  }
}

function checked(name: string, value: unknown): string {
  if (!isName.test(name)) throw bad(`${JSON.stringify(name)} cannot be the name of a header`);
  if (typeof value !== "string" || !isValue.test(value)) throw bad(`header ${name} has a value that cannot be sent`);
  return value;
}

const isName = /^[!#$%&'*+.^_`|~\w-]+$/;
/** One line of characters that fit in a byte. */
const isValue = /^[\t\x20-\x7e\x80-\xff]*$/;

function bad(problem: string): McpError {
  return new McpError("invalid-params", problem);
}
