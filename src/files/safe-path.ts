import { lstat, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { McpError } from "../protocol/errors.ts";

/**
 * The path of a file within a folder, for a name that somebody else chose, such as a variable of a resource template.
 *
 * `name` has parts with `/` between them. Refused are those that lead out of the folder (`..`, absolute paths, drives, symbolic
 * links to a place outside), that may mean something else to whoever reads them next (backslashes, percent-encoded separators,
 * control characters), and that Windows cannot have (devices such as `NUL`, `:`, a dot or space at the end), so that a server
 * does the same everywhere. Rejects with `invalid-params`, whose message repeats the name and nothing of the folder.
 *
 * Symbolic links are resolved in what is there. The file need not exist, so that it can be made; then its folders may be
 * missing, too. Who can write to the folder could put a link there after the path was checked: let nobody do so whom the
 * server does not trust.
 *
 * @example
 * resource("notes://{+path}", { read: async ({ path }) => readFile(await safePath("/srv/notes", path), "utf8") });
 */
export async function safePath(folder: string, name: string): Promise<string> {
  const problem = problemOf(name);
  if (problem !== undefined) throw refused(name, problem);
  const root = await rootOf(folder);
  const parts = name.split("/");
  for (let known = parts.length; known >= 0; known--) {
    const found = await resolved(join(root, ...parts.slice(0, known)), name);
    if (found === undefined) continue;
    if (!isWithin(root, found)) throw refused(name, "is a link that leads out of the folder");
    return join(found, ...parts.slice(known));
  }
  throw folderGone(folder, "ENOENT");
}

const MAX_LENGTH = 4_096;

/** What is wrong with a name, whatever is in the folder. */
function problemOf(name: unknown): string | undefined {
  if (typeof name !== "string" || name === "") return "is empty; name a file";
  if (name.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  const whole = problemsOfNames.find(([pattern]) => pattern.test(name));
  if (whole !== undefined) return whole[1];
  const parts = name.split("/");
  return problemsOfParts.find(([pattern]) => parts.some((part) => pattern.test(part)))?.[1];
}

const problemsOfNames: readonly (readonly [pattern: RegExp, problem: string])[] = [
  [/[\p{Cc}\p{Cs}]/u, "has control characters in it, or half a character"],
  [/^[a-z]:/i, "begins with a drive; name a file within the folder"],
  [/\\/, "has a backslash in it; write / between parts"],
  [/%(?:2f|5c|2e|00)/i, "has percent-encoded separators, dots or NUL in it; decode it once, before"],
  [/^\//, "is absolute; name a file within the folder"],
];

const problemsOfParts: readonly (readonly [pattern: RegExp, problem: string])[] = [
  [/^\.{0,2}$/, "has an empty part, . or .. in it; name a file within the folder"],
  [/[:*?"<>|]|[. ]$/, 'has one of : * ? " < > | in it, or a part that ends with a dot or a space'],
  // Windows has them in any folder, and with any ending.
  [/^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[\d¹²³]) *(?:\.|$)/i, "is the name of a device on Windows"],
];

async function rootOf(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (error) {
    throw folderGone(folder, codeOf(error));
  }
}

/** What a path really is, with all links followed. Undefined when there is nothing. */
async function resolved(path: string, name: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    const code = codeOf(error);
    if (code !== "ENOENT") throw refused(name, `cannot be opened (${code})`);
  }
  // What is made at the place of a link that leads nowhere would be made where it leads.
  if (await isLink(path)) throw refused(name, "is a link that leads nowhere");
  return undefined;
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown error";
}

/** A name as a message can have it: on one line, and not too long. */
function shown(name: unknown): string {
  const text = JSON.stringify(String(name).slice(0, 100));
  return String(name).length > 100 ? `${text}…` : text;
}

function refused(name: unknown, problem: string): McpError {
  return new McpError("invalid-params", `the path ${shown(name)} ${problem}`);
}

function folderGone(folder: string, code: string): McpError {
  return new McpError("invalid-definition", `safePath: the folder ${folder} cannot be opened: ${code}`);
}
