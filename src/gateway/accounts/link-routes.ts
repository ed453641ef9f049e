import { redirectTo } from "../../auth/proxy/answers.ts";
import type { Browsers } from "../../auth/proxy/browser.ts";
import { errorPage } from "../../auth/proxy/pages.ts";
import { formOf, type Parameters, queryOf } from "../../auth/proxy/parameters.ts";
import type { AuthRoute, RouteAnswer } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import { digestText } from "../../std/digest.ts";
import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import type { AccountRecords, Ticket } from "./account-records.ts";
import type { Accounts } from "./accounts.ts";
import type { BrowserIdentities } from "./browser-identity.ts";
import { donePage, linkPage } from "./link-pages.ts";
import { callbackPath, type Links, linkPath } from "./links.ts";
import type { UpstreamSignIn } from "./upstream-sign-in.ts";
import type { KeyCredentials, UserCredentials } from "./vault-options.ts";

/** What the pages of a gateway share. */
interface LinkRoutesOptions {
  readonly origin: string;
  readonly links: Links;
  readonly records: AccountRecords;
  readonly accounts: Accounts;
  readonly browsers: Browsers;
  /** Undefined where nobody finds out whose browser it is. */
  readonly identities: BrowserIdentities | undefined;
  readonly upstream: UpstreamSignIn;
  /** Servers that users connect accounts of. */
  readonly servers: ReadonlyMap<string, UserCredentials | KeyCredentials>;
  readonly linkTtlMs: number;
  /** Milliseconds of the time of day. */
  now(): number;
}

/** The pages where users connect accounts: for each server one that a link leads to, and one that users come back to. */
export function createLinkRoutes(options: LinkRoutesOptions): Readonly<Record<string, AuthRoute>> {
  const routes = [...options.servers].flatMap(
    ([server, given]): [string, AuthRoute][] =>
      [
        [linkPath(server), linkRoute(server, given, options)],
        ...(given.kind === "user" ? ([[callbackPath(server), callbackRoute(server, given, options)]] as const) : []),
      ] as [string, AuthRoute][],
  );
  return { ...Object.fromEntries(routes), ...options.identities?.routes };
}

function linkRoute(server: string, given: UserCredentials | KeyCredentials, options: LinkRoutesOptions): AuthRoute {
  return async (http, body) => {
    if (http.method === "GET") return showLink(http, server, given, options);
    if (http.method === "POST") return useLink({ http, form: formOf(http, body) }, server, given, options);
    return { ...errorPage(405, "Open the link again."), headers: { allow: "GET, POST", "content-type": "text/plain" } };
  };
}

/** Shows what is about to be connected to whom. Nothing is used up: programs that look at links in advance do no harm. */
async function showLink(
  http: HttpRequestInfo,
  server: string,
  given: UserCredentials | KeyCredentials,
  options: LinkRoutesOptions,
): Promise<RouteAnswer> {
  const { links, browsers, identities, records } = options;
  const ticket = await links.read(queryOf(http)?.get("ticket") ?? "", server);
  if (ticket === undefined) return unknownLink;
  if ((await records.get("used", ticket.id)) !== undefined) return usedLink;
  const browser = browsers.idOf(http) ?? browsers.newId();
  const who = await identities?.identify(http);
  if (identities !== undefined && who === undefined) {
    return (await signInFirst({ identities, browser, ticket, next: http.url }, options)) ?? otherUser;
  }
  if (who !== undefined && who !== ticket.principal) return otherUser;
  const form = await links.toForm(ticket, await digestText(browser));
  return linkPage({ ticket, given, form, isIdentified: who !== undefined, headers: browsers.keep(browser) });
}

interface UnknownBrowser {
  readonly identities: BrowserIdentities;
  readonly browser: string;
  readonly ticket: Ticket;
  /** Where to go on, below the origin. */
  readonly next: string;
}

async function signInFirst(
  { identities, browser, ticket, next }: UnknownBrowser,
  { records }: LinkRoutesOptions,
): Promise<RouteAnswer | undefined> {
  if (!(await records.take("identity", ticket.id))) return tooMany;
  try {
    return await identities.signIn(browser, next);
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    const answer = errorPage(503, "Signing in is not possible right now. Try again later.");
    return { ...answer, warning: `gateway: ${error.message}` };
  }
}

/** Goes on with what a user has agreed to: once, from the page that was shown, in the browser that it was shown in. */
async function useLink(
  { http, form }: { readonly http: HttpRequestInfo; readonly form: Parameters | undefined },
  server: string,
  given: UserCredentials | KeyCredentials,
  options: LinkRoutesOptions,
): Promise<RouteAnswer> {
  const { origin, links, browsers, records } = options;
  const sent = http.header("origin");
  if (sent !== undefined && sent !== origin) return errorPage(403, "This was sent by another page.");
  const opened = await links.readForm(form?.get("link") ?? "", server);
  if (form === undefined || opened === undefined) return unknownLink;
  const { ticket } = opened;
  if (!(await isSameBrowser(http, opened.browser, browsers))) return otherBrowser;
  if (!(await isSameUser(http, ticket, options))) return otherUser;
  if (form.get("decision") !== "allow")
    return donePage("Nothing was connected", "You can close this page. The link is still good for a while.");
  if (!(await records.take("link", ticket.principal))) return tooMany;
  return given.kind === "key"
    ? takeKey(form, ticket, options)
    : sendToServer({ ticket, given, browser: opened.browser }, options);
}

async function takeKey(form: Parameters, ticket: Ticket, options: LinkRoutesOptions): Promise<RouteAnswer> {
  const key = form.get("key")?.trim() ?? "";
  if (!isKey.test(key))
    return errorPage(400, "That is not a key: open the link again, and enter it without line breaks.");
  if (!(await useUp(ticket, options))) return usedLink;
  await options.accounts.connect(ticket, { url: ticket.url, key });
  return connected(ticket);
}

/** What a header can hold. */
const isKey = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/;

interface Agreed {
  readonly ticket: Ticket;
  readonly given: UserCredentials;
  /** The digest of what the browser is known by. */
  readonly browser: string;
}

async function sendToServer({ ticket, given, browser }: Agreed, options: LinkRoutesOptions): Promise<RouteAnswer> {
  const { upstream, records, linkTtlMs } = options;
  try {
    const { url, pending } = await upstream.begin(ticket, given, browser);
    if (!(await useUp(ticket, options))) return usedLink;
    await records.put("link", await digestText(pending.state), pending, { ttlMs: linkTtlMs });
    return redirectTo(url);
  } catch (error) {
    return failed(error, `${ticket.server} cannot be connected right now. Try again later.`);
  }
}

/** False when the link was used before. */
function useUp({ id, expires }: Ticket, { records, now }: LinkRoutesOptions): Promise<boolean> {
  return records.put("used", id, { at: now() }, { version: null, ttlMs: Math.max(1, expires - now()) });
}

/** Takes users who come back from the authorization server of a server. */
function callbackRoute(server: string, given: UserCredentials, options: LinkRoutesOptions): AuthRoute {
  const { origin, records, browsers, upstream } = options;
  return async (http) => {
    if (http.method !== "GET") return errorPage(405, "Open the link again.");
    const query = queryOf(http);
    if (query === undefined) return unknownSignIn;
    const name = await digestText(query.get("state") ?? "");
    const found = await records.get("link", name);
    if (found?.value.ticket.server !== server) return unknownSignIn;
    const { ticket } = found.value;
    // Another browser does not use up the state: who has it there may be somebody who was lured here.
    if (!(await isSameBrowser(http, found.value.browser, browsers))) return otherBrowser;
    if (!(await isSameUser(http, ticket, options))) return otherUser;
    if (!(await records.delete("link", name, found.version))) return unknownSignIn;
    try {
      await upstream.finish(found.value, given, `${origin}${http.url}`);
      return connected(ticket);
    } catch (error) {
      return failed(error, `Your account at ${server} was not connected. To try again, repeat what you wanted to do.`);
    }
  };
}

async function isSameBrowser(http: HttpRequestInfo, digest: string, browsers: Browsers): Promise<boolean> {
  const browser = browsers.idOf(http);
  return browser !== undefined && (await digestText(browser)) === digest;
}

async function isSameUser(http: HttpRequestInfo, ticket: Ticket, { identities }: LinkRoutesOptions): Promise<boolean> {
  return identities === undefined || (await identities.identify(http)) === ticket.principal;
}

function failed(error: unknown, message: string): RouteAnswer {
  if (!(error instanceof McpError)) throw error;
  return { ...errorPage(502, message), warning: `gateway: ${error.message}` };
}

function connected({ server, who }: Ticket): RouteAnswer {
  return donePage(
    `${server} is connected`,
    `The gateway uses your account there for ${who} now. You can close this page.`,
  );
}

const unknownLink = errorPage(
  400,
  "This link is not valid, or too old. Repeat what you wanted to do to get another one.",
);
const usedLink = errorPage(400, "This link was used before. Repeat what you wanted to do to get another one.");
const otherUser = errorPage(403, "This link is for another user. Do not go on with links that somebody sent you.");
const otherBrowser = errorPage(403, "This was begun in another browser, or cookies are off. Open the link again.");
const unknownSignIn = errorPage(400, "This sign-in is not known, or over. Repeat what you wanted to do.");
const tooMany = errorPage(429, "Too many links were used. Try again in ten minutes.");
