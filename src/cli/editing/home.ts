import { homedir } from "node:os";

/** The home of the user, as the environment says it. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return (process.platform === "win32" ? env.USERPROFILE : env.HOME) ?? homedir();
}
