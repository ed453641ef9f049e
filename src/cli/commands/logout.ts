import { createCredentials } from "../../auth/client/credentials.ts";
import { canonicalUrl } from "../../auth/client/discovery.ts";
import { McpError } from "../../protocol/errors.ts";
import { type Command, defineCommand } from "../command.ts";
import { createOAuth } from "../sign-in/create-oauth.ts";
import { placeOfSignIn, tokensIn } from "../sign-in/tokens.ts";
import { findUrlTarget } from "../sign-in/url-target.ts";
import { stopBackgroundsAt } from "../warm/ask-background.ts";

export const command: Command = defineCommand({
  name: "logout",
  usage: ["<target>"],
  description:
    "Deletes everything that was kept of a sign-in, and tells the authorization server that it is not needed any more. When\n" +
    "that cannot be told, everything is deleted here nevertheless, and the exit code says so.",
  target: "one",
  hasOwnConnection: true,
  options: {},
  examples: [
    { line: "plugbay logout https://example.com/mcp", does: "sign out" },
    { line: "plugbay logout shop --tokens file", does: "only what is kept in files" },
  ],
  async run(context) {
    const { url, settings } = await findUrlTarget(context);
    const { env, options, signal } = context;
    const { tokens: named } = options as { readonly tokens?: string };
    const place = await placeOfSignIn(url, env, named);
    if (place === undefined) {
      context.print({ signedOut: false, server: url.href }, () => `nobody is signed in to ${url.href}`);
      return undefined;
    }
    const tokens = await tokensIn(place, env);
    const kept = await createCredentials(tokens).place(canonicalUrl(url));
    const nobody = { open: () => Promise.reject(new Error("signing out needs no page")) };
    const auth = createOAuth({ tokens, redirect: nobody, settings, issuer: settings && kept?.issuer, signal });
    await auth
      .signOut(url)
      .catch((error: unknown) => throwUntold(error, url))
      .finally(() => stopBackgroundsAt(url, env));
    context.print({ signedOut: true, server: url.href }, () => `signed out of ${url.href}`);
    return undefined;
  },
});

/** Everything is deleted here by then: what failed is telling the authorization server. */
function throwUntold(error: unknown, url: URL): never {
  if (!(error instanceof McpError)) throw error;
  const { code, message, data } = error;
  const told = `signed out of ${url.href} here, but the authorization server was not told: ${message}`;
  throw new McpError(code, told, { cause: error, ...(data !== undefined && { data }) });
}
