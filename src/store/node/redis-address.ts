import { StoreError } from "../store.ts";

/** Where a Redis is, and who asks. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly tls: boolean;
}

/** What a TLS connection may need beyond the address: texts in PEM. */
export interface RedisTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

const schemes: Readonly<Record<string, { readonly tls: boolean }>> = {
  "redis:": { tls: false },
  "valkey:": { tls: false },
  "rediss:": { tls: true },
  "valkeys:": { tls: true },
};

/** Reads `redis://user:password@host:port/db`. Throws `invalid`, never with the URL in it: it may hold a password. */
export function parseRedisUrl(text: string): RedisAddress {
  const url = parse(text);
  const scheme = schemes[url.protocol];
  if (scheme === undefined) throw invalid("must start with redis://, rediss://, valkey:// or valkeys://");
  if (url.search !== "" || url.hash !== "") throw invalid("takes no parameters");
  if (!/^\/?\d*$/.test(url.pathname)) throw invalid("has as its path the number of a database, or none");
  return {
    host: decode(url.hostname.replace(/^\[|\]$/g, "")) ?? "127.0.0.1",
    port: url.port === "" ? 6379 : Number(url.port),
    username: decode(url.username),
    password: decode(url.password),
    db: Number(url.pathname.slice(1)),
    tls: scheme.tls,
  };
}

function parse(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw invalid("cannot be parsed");
  }
}

/** Undefined for nothing. */
function decode(part: string): string | undefined {
  try {
    return part === "" ? undefined : decodeURIComponent(part);
  } catch {
    throw invalid("has a % that starts no escape");
  }
}

function invalid(problem: string): StoreError {
  return new StoreError("invalid", `redis: the URL ${problem}`);
}
