import type { Redis, RedisOptions } from "ioredis";
import { StoreError } from "../store.ts";
import { type ScriptName, scripts } from "./redis-scripts.ts";

/** The address of a Redis, and the credentials. */
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

/** Creates a client that is not connected yet. Its name is shown in the client list of Redis. */
type ClientFactory = (name: string) => Redis;

/** Rejects with `unsupported` without the package. */
export async function clientFactory(address: RedisAddress, tls: RedisTls | undefined): Promise<ClientFactory> {
  const { Redis } = await import("ioredis").catch(() => {
    throw new StoreError("unsupported", "redis: needs the package ioredis; install it with npm i ioredis");
  });
  return (name) => new Redis({ ...clientOptions(address, tls), connectionName: name });
}

/** Runs a script. Its keys come first. */
export function runScript(redis: Redis, name: ScriptName, args: readonly string[]): Promise<unknown> {
  const run = (redis as unknown as Readonly<Record<string, (...args: string[]) => Promise<unknown>>>)[commandOf(name)];
  return (run as (...args: string[]) => Promise<unknown>).apply(redis, [...args]);
}

function commandOf(name: string): string {
  return `plugbay:${name}`;
}

function clientOptions(address: RedisAddress, tls: RedisTls | undefined): RedisOptions {
  const { host, port, username, password, db } = address;
  return {
    host,
    port,
    db,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(address.tls && { tls: { ...tls } }),
    scripts: Object.fromEntries(Object.entries(scripts).map(([name, script]) => [commandOf(name), { ...script }])),
    lazyConnect: true,
    keepAlive: 10_000,
    connectTimeout: 5_000,
    disconnectTimeout: 500,
    maxLoadingRetryTime: 250,
    retryStrategy: backOff,
    // What to do with commands that cannot be sent, or whose answer is lost, is decided by the connection: they fail at once.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
  };
}

/** The delay before the next attempt to connect: exponential, with jitter. */
function backOff(attempt: number): number {
  return Math.min(1_000, 25 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
}

const QUIT_MS = 1_000;

/** Ends a connection, politely if that is possible at once. Never throws. */
export async function endClient(client: Redis): Promise<void> {
  const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
  if (client.status === "ready") {
    client.quit().catch(() => {});
    await within(ended, QUIT_MS);
  }
  if (client.status === "end") return;
  // Without a connection there is no end to wait for.
  const connected = client.status !== "reconnecting" && client.status !== "wait";
  client.disconnect();
  if (connected) await within(ended, QUIT_MS);
}

/** Resolves with `work`, or after `ms` without it. */
export async function within(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
