import type { Redirect } from "../../auth/client/sign-in.ts";
import type { ServerEntry } from "../../config/server-entry.ts";
import type { Authorizer } from "../../protocol/authorizer.ts";
import { McpError } from "../../protocol/errors.ts";
import type { CommandContext } from "../command.ts";
import { hasSignIns } from "./tokens-folder.ts";

/**
 * Shows a server who the user is by an earlier `plugbay login`, and renews what has expired. Undefined where nobody has
 * signed in there. It opens no browser: where the user would have to, it rejects with `unauthorized`.
 */
export async function storedAuth(
  url: URL,
  { env, options }: Pick<CommandContext, "env" | "options">,
  server: Pick<ServerEntry, "oauth"> | undefined,
): Promise<Authorizer | undefined> {
  // Who never signed in loads nothing for it.
  if (!hasSignIns(env)) return undefined;
  const { placeOfSignIn, tokensIn } = await import("./tokens.ts");
  const { tokens: named } = options;
  const place = await placeOfSignIn(url, env, typeof named === "string" ? named : undefined);
  if (place === undefined) return undefined;
  const [tokens, { createOAuth }, { createCredentials }, { canonicalUrl }] = await Promise.all([
    tokensIn(place, env),
    import("./create-oauth.ts"),
    import("../../auth/client/credentials.ts"),
    import("../../auth/client/discovery.ts"),
  ]);
  const kept = await createCredentials(tokens).place(canonicalUrl(url));
  const settings = server?.oauth === false ? undefined : server?.oauth;
  return createOAuth({ tokens, redirect: nobody(url), settings, issuer: settings && kept?.issuer });
}

/** Users who are not there cannot be sent anywhere. */
function nobody({ origin }: URL): Redirect {
  return {
    async open() {
      const message = `the sign-in at ${origin} is over, and nobody can be asked here; sign in again`;
      throw new McpError("unauthorized", message, { data: { reason: "interaction-required" } });
    },
  };
}
