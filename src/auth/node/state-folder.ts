import { homedir } from "node:os";
import { join } from "node:path";

/** Where the system keeps what applications of this user remember. */
export function stateFolder(
  env: Readonly<Record<string, string | undefined>> = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  if (platform === "win32") return env.LOCALAPPDATA || join(homedir(), "AppData", "Local");
  if (platform === "darwin") return join(homedir(), "Library", "Application Support");
  // A relative one is to be ignored, says the XDG Base Directory Specification.
  return env.XDG_STATE_HOME?.startsWith("/") ? env.XDG_STATE_HOME : join(homedir(), ".local", "state");
}
