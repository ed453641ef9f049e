import { asJson } from "../../json/json.ts";
import { createSealer } from "../../protocol/seal.ts";
import { toBase64Url } from "../../std/base64.ts";
import type { AccountKey, Ticket } from "./account-records.ts";

/** What a link is made for. */
interface LinkRequest extends AccountKey {
  readonly url: string;
  readonly who: string;
  readonly scopes?: readonly string[] | undefined;
}

/** Links to the page where a user connects an account. All that a link says is in it, sealed: making one takes no space. */
export interface Links {
  make(request: LinkRequest): Promise<string>;
  /** What a link says. Undefined for one that was not made here, is of another server, or is too old. */
  read(sealed: string, server: string): Promise<Ticket | undefined>;
  /** What the page sends back with its form: only in the browser that it was shown in. */
  toForm(ticket: Ticket, browser: string): Promise<string>;
  readForm(sealed: string, server: string): Promise<{ readonly ticket: Ticket; readonly browser: string } | undefined>;
}

interface LinksOptions {
  readonly origin: string;
  readonly keys: readonly string[];
  readonly ttlMs: number;
  /** Milliseconds of the time of day. */
  now(): number;
}

export function createLinks({ origin, keys, ttlMs, now }: LinksOptions): Links {
  const links = createSealer(keys, { purpose: `link ${origin}` });
  const forms = createSealer(keys, { purpose: `link form ${origin}` });
  const checked = (ticket: Ticket | undefined, server: string): Ticket | undefined =>
    ticket !== undefined && ticket.server === server && ticket.expires > now() ? ticket : undefined;

  return {
    async make({ principal, server, url, who, scopes = [] }) {
      const id = toBase64Url(crypto.getRandomValues(new Uint8Array(16)));
      const ticket: Ticket = { principal, server, url, who: who.slice(0, MAX_WHO), scopes, id, expires: now() + ttlMs };
      return `${origin}${linkPath(server)}?ticket=${await links.seal({ ticket: asJson(ticket) })}`;
    },
    async read(sealed, server) {
      // Nobody else can seal for this purpose.
      const opened = (await links.open(sealed)) as { readonly ticket: Ticket } | undefined;
      return checked(opened?.ticket, server);
    },
    toForm: (ticket, browser) => forms.seal({ ticket: asJson(ticket), browser }),
    async readForm(sealed, server) {
      const opened = (await forms.open(sealed)) as { readonly ticket: Ticket; readonly browser: string } | undefined;
      return checked(opened?.ticket, server) && opened;
    },
  };
}

/** In characters. */
const MAX_WHO = 200;

/** Where the link page of a server is, below the origin. */
export function linkPath(server: string): string {
  return `/connect/${encodeURIComponent(server)}`;
}

/** Where users come back to from the authorization server of a server: a place for each, so that none can answer for another. */
export function callbackPath(server: string): string {
  return `${linkPath(server)}/callback`;
}
