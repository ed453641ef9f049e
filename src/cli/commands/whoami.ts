import { createCredentials } from "../../auth/client/credentials.ts";
import { canonicalUrl } from "../../auth/client/discovery.ts";
import { McpError } from "../../protocol/errors.ts";
import { type Command, defineCommand } from "../command.ts";
import { placeOfSignIn, tokensIn } from "../sign-in/tokens.ts";
import { findUrlTarget } from "../sign-in/url-target.ts";
import { oneLine } from "../terminal/printable.ts";
import { formatTable } from "../values/table.ts";

export const command: Command = defineCommand({
  name: "whoami",
  usage: ["<target>"],
  description:
    "Says how you are signed in to a server: where, as which client, with which scopes, and for how long. Nobody is asked and\n" +
    "no token is shown. The exit code is 4 when you are not signed in.",
  target: "one",
  hasOwnConnection: true,
  options: {},
  examples: [
    { line: "plugbay whoami https://example.com/mcp", does: "how am I signed in?" },
    { line: "plugbay whoami shop --json", does: "for a program" },
  ],
  async run(context) {
    const { url } = await findUrlTarget(context);
    const { env, options } = context;
    const { tokens: named } = options as { readonly tokens?: string };
    const where = await placeOfSignIn(url, env, named);
    const credentials = where && createCredentials(await tokensIn(where, env));
    const place = await credentials?.place(canonicalUrl(url));
    const tokens = place && (await credentials?.tokens(place));
    if (place === undefined || tokens === undefined) {
      throw new McpError("unauthorized", `you are not signed in to ${url.href}`, {
        data: { reason: "interaction-required" },
      });
    }
    const { issuer, clientId } = place;
    const { granted, requested, refreshToken, renewAt } = tokens;
    const scopes = granted ?? requested;
    const canRenew = refreshToken !== undefined;
    const expires = renewAt === undefined ? undefined : new Date(renewAt).toISOString();
    const told = { server: url.href, issuer, clientId, scopes, canRenew, tokens: where, ...(expires && { expires }) };
    context.print(told, () =>
      formatTable([
        ["server", url.href],
        ["issuer", oneLine(issuer)],
        ["client", oneLine(clientId)],
        ["scopes", scopes.map((scope) => oneLine(scope)).join(" ") || "(none)"],
        ["expires", `${expires ?? "not said"}${canRenew ? ", renewed by itself" : ""}`],
        ["kept in", where === "keychain" ? "the keychain" : "a file"],
      ]),
    );
    return undefined;
  },
});
