import { existsSync } from "node:fs";
import { join } from "node:path";
import { stateFolder } from "../../auth/node/file-tokens.ts";

/** Where a sign-in is kept. */
export type TokenPlace = "keychain" | "file";

/** The folder of a place. In that of the keychain, tokens are encrypted. */
export function tokensFolder(place: TokenPlace, env: NodeJS.ProcessEnv): string {
  return join(stateFolder(env), "plugbay", place === "keychain" ? "tokens" : "file-tokens");
}

/** Whether this user has ever signed in anywhere. */
export function hasSignIns(env: NodeJS.ProcessEnv): boolean {
  return existsSync(tokensFolder("keychain", env)) || existsSync(tokensFolder("file", env));
}
