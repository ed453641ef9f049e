import type { OAuthSettings } from "../../config/server-entry.ts";
import type { CommandContext } from "../command.ts";
import { findTarget } from "../target/open-target.ts";
import { UsageError } from "../usage-error.ts";

/** A server at a URL, and what a configuration file says of signing in there. */
export interface UrlTarget {
  readonly url: URL;
  readonly settings: OAuthSettings | undefined;
}

/** The target of a command that is about signing in. */
export async function findUrlTarget(context: CommandContext): Promise<UrlTarget> {
  const { targetText: text } = context;
  const found = text.startsWith("-- ") ? undefined : await findTarget({ text }, context);
  if (found === undefined || !("url" in found.entry)) {
    throw new UsageError(
      "signing in is for servers at URLs, and the target is a program",
      "give a URL, or the name of one",
    );
  }
  const { url } = found.entry;
  if (!URL.canParse(url)) throw new UsageError(`${JSON.stringify(url)} is not a URL`);
  const settings = found.server?.oauth;
  if (settings === false) throw new UsageError(`the configuration of ${found.name} forbids to sign in`);
  return { url: new URL(url), settings };
}
