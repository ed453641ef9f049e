import { isObject } from "../json/json.ts";
import type { Failure } from "../model/errors.ts";

/** What to do about a server that cannot be reached, where its failure tells. */
export function hintFor({ code, message, data }: Failure): string | undefined {
  if (code === "invalid-config") return undefined;
  if (/ENOENT|command not found|no such file/i.test(message)) {
    return "is the program installed, and is it in PATH? A file needs its whole path, or one relative to cwd";
  }
  if (/EACCES/.test(message)) return "the file may not be executable";
  if (code === "unauthorized") return "the server wants credentials: give it auth, or an authorization header";
  if (code === "forbidden") return "the credentials do not allow it, or the server does not accept this host";
  if (/ECONNREFUSED/.test(message)) return "nothing listens there: is the server started, and the port right?";
  if (/ENOTFOUND|EAI_AGAIN/.test(message))
    return "the host name is not known: is it spelled right, and is there a network?";
  if (code === "timeout")
    return "the server does not answer: does it speak MCP on stdio or at this URL? connectTimeoutMs sets the limit";
  if (isObject(data) && "exitCode" in data)
    return "the program ended: its last words are in stderr; run the command by hand to see all of them";
  return undefined;
}
