import type { Browsers } from "./browser.ts";
import type { Clients } from "./clients.ts";
import type { Grants } from "./grants.ts";
import type { Quota } from "./quota.ts";
import type { ProxyRecords, Records } from "./records.ts";
import type { ProxySettings } from "./settings.ts";
import type { Upstream } from "./upstream.ts";
import type { UpstreamTokenSource } from "./upstream-tokens.ts";

/** What the routes of a proxy share. */
export interface ProxyParts {
  readonly settings: ProxySettings;
  readonly upstream: Upstream;
  readonly records: Records<ProxyRecords>;
  readonly clients: Clients;
  readonly grants: Grants;
  readonly upstreamTokens: UpstreamTokenSource;
  readonly quota: Quota;
  readonly browsers: Browsers;
  /** Milliseconds of the time of day. */
  now(): number;
}

/** Where each route is, below the issuer. */
export const paths = {
  authorize: "/authorize",
  consent: "/consent",
  callback: "/callback",
  token: "/token",
  register: "/register",
  revoke: "/revoke",
} as const;
