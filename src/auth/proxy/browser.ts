import type { HttpRequestInfo } from "../../std/http-request-info.ts";
import { randomText } from "./grants.ts";
import { cookieOf } from "./parameters.ts";
import { CONSENT_TTL_MS } from "./sign-in.ts";

/** Tells browsers apart, by a cookie that holds nothing but a random name. */
export interface Browsers {
  /** What a browser is known by. Undefined when it is not known yet. */
  idOf(http: HttpRequestInfo): string | undefined;
  newId(): string;
  /** The header that makes a browser keep its id. */
  keep(id: string): Readonly<Record<string, string>>;
}

/**
 * By https the name starts with `__Host-`, so that no other host of the domain can set the cookie. By http, which is for
 * this machine only, browsers would not take such a name.
 */
export function createBrowsers(isSecure: boolean): Browsers {
  const name = isSecure ? "__Host-plugbay-browser" : "plugbay-browser";
  const attributes = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${CONSENT_TTL_MS / 1_000}${isSecure ? "; Secure" : ""}`;
  return {
    idOf(http) {
      const id = cookieOf(http, name);
      return id !== undefined && /^[\w-]{43}$/.test(id) ? id : undefined;
    },
    newId: () => randomText(32),
    keep: (id) => ({ "set-cookie": `${name}=${id}; ${attributes}` }),
  };
}
