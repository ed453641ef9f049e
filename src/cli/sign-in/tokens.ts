import { existsSync } from "node:fs";
import { join } from "node:path";
import { canonicalUrl } from "../../auth/client/discovery.ts";
import { nameOf } from "../../auth/client/dpop.ts";
import type { TokenStore } from "../../auth/client/token-store.ts";
import { fileTokens } from "../../auth/node/file-tokens.ts";
import { type TokenPlace, tokensFolder } from "./tokens-folder.ts";

/** The store of a place. Its methods reject with `unsupported` where there is no keychain. */
export async function tokensIn(place: TokenPlace, env: NodeJS.ProcessEnv): Promise<TokenStore> {
  const folder = tokensFolder(place, env);
  if (place === "file") return fileTokens(folder);
  const { keychainTokens } = await import("../../auth/node/keychain-tokens.ts");
  return keychainTokens({ folder });
}

/** Where the sign-in at a server is kept, if there is one. Nothing is unlocked and nobody is asked. */
export async function placeOfSignIn(url: URL, env: NodeJS.ProcessEnv, named?: string): Promise<TokenPlace | undefined> {
  const file = `${await nameOf("place", canonicalUrl(url))}.json`;
  const places: readonly TokenPlace[] = named === "keychain" || named === "file" ? [named] : ["keychain", "file"];
  return places.find((place) => existsSync(join(tokensFolder(place, env), file)));
}
