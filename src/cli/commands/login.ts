import { createCredentials } from "../../auth/client/credentials.ts";
import { canonicalUrl } from "../../auth/client/discovery.ts";
import type { Redirect } from "../../auth/client/sign-in.ts";
import { loopbackRedirect, openBrowser } from "../../auth/node/loopback.ts";
import { McpError } from "../../protocol/errors.ts";
import { type Command, type CommandContext, defineCommand } from "../command.ts";
import { createOAuth } from "../sign-in/create-oauth.ts";
import { placeOfSignIn, tokensIn } from "../sign-in/tokens.ts";
import type { TokenPlace } from "../sign-in/tokens-folder.ts";
import { findUrlTarget } from "../sign-in/url-target.ts";
import { printable } from "../terminal/printable.ts";
import { stopBackgroundsAt } from "../warm/ask-background.ts";

export const command: Command = defineCommand({
  name: "login",
  usage: ["<target>"],
  description:
    "Signs in to a server at a URL, in the browser, and keeps what it was given: in the keychain of the system where the\n" +
    "package @napi-rs/keyring is installed, else in files that only you can read. All other commands then use it. The page\n" +
    "is shown before it is opened; without a terminal it is only shown.",
  target: "one",
  hasOwnConnection: true,
  options: {
    scope: { type: "texts", value: "scope", meaning: "ask for this scope; may be repeated" },
    issuer: { type: "text", value: "url", meaning: "the authorization server that a configured client secret is for" },
    "no-browser": { type: "flag", meaning: "show the page to open, and open none" },
  },
  examples: [
    { line: "plugbay login https://example.com/mcp", does: "sign in" },
    { line: "plugbay login shop --scope orders:write --tokens file", does: "with a scope, kept in files" },
  ],
  async run(context) {
    const { url, settings } = await findUrlTarget(context);
    const { signal, env, options } = context;
    const place = await choosePlace(options, context);
    const { scope, issuer } = options;
    const auth = createOAuth({
      tokens: await tokensIn(place, env),
      redirect: redirectFor(context, options["no-browser"]),
      settings,
      issuer,
      signal,
      ...(scope.length > 0 && { scopes: scope }),
    });
    if (await lacksScopes(url, { scope, place, env })) await auth.signOut(url);
    const { client } = await context.openTarget({ connect: { auth } });
    // Some servers let everybody connect, and ask who it is later.
    if ((await placeOfSignIn(url, env, place)) === undefined && client.server.capabilities.tools !== undefined) {
      await client.listTools({ signal });
    }
    await stopBackgroundsAt(url, env);
    const isSignedIn = (await placeOfSignIn(url, env, place)) !== undefined;
    context.print({ signedIn: isSignedIn, server: url.href, ...(isSignedIn && { tokens: place }) }, () =>
      isSignedIn
        ? `signed in to ${url.href}; kept in ${place === "keychain" ? "the keychain" : "a file that only you can read"}`
        : `${url.href} does not ask who you are: there is nothing to sign in to`,
    );
    return undefined;
  },
});

interface WantedScopes {
  readonly scope: readonly string[];
  readonly place: TokenPlace;
  readonly env: NodeJS.ProcessEnv;
}

/** Whether an earlier sign-in would be used, and was not for all of these scopes. */
async function lacksScopes(url: URL, { scope, place, env }: WantedScopes): Promise<boolean> {
  if (scope.length === 0 || (await placeOfSignIn(url, env, place)) === undefined) return false;
  const credentials = createCredentials(await tokensIn(place, env));
  const kept = await credentials.place(canonicalUrl(url));
  const { granted, requested = [] } = (kept && (await credentials.tokens(kept))) ?? {};
  const has = granted ?? requested;
  return scope.some((one) => !has.includes(one));
}

/** The place that was named, else the keychain where there is one. */
async function choosePlace(
  options: Readonly<Record<string, unknown>>,
  { env }: Pick<CommandContext, "env">,
): Promise<TokenPlace> {
  if (options.tokens === "keychain" || options.tokens === "file") return options.tokens;
  try {
    // Finding out is reading something that is not there.
    await (await tokensIn("keychain", env)).get("none");
    return "keychain";
  } catch (error) {
    if (error instanceof McpError && error.code === "unsupported") return "file";
    throw error;
  }
}

/** Sends the user to a page that is shown first. */
function redirectFor(context: CommandContext, showsOnly: boolean): Redirect {
  return loopbackRedirect({
    async openUrl(url) {
      context.say(`To sign in, open this page of ${url.host}:\n  ${printable(url.href)}`);
      if (showsOnly || !context.canAsk) return true;
      const { openQuestions } = await import("../terminal/questions.ts");
      const questions = await openQuestions(context);
      if (!(await questions.confirm("Open it in your browser?"))) return true;
      return openBrowser(url);
    },
    showUrl: () => context.say("No browser could be started; open the page yourself."),
  });
}
