import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { JwtOptions } from "../../auth/server/jwt.ts";
import { jwt } from "../../auth/server/jwt.ts";
import type { GatewayOptions } from "../../gateway/open-gateway.ts";
import { isObject } from "../../json/json.ts";
import type { Authenticator } from "../../protocol/authenticator.ts";
import { McpError } from "../../protocol/errors.ts";
import { checkOptionNames, type OptionNames } from "../../protocol/option-names.ts";
import { openStore, StoreError } from "../../store/node/index.ts";
import type { Store } from "../../store/store.ts";
import type { ServeHttpOptions } from "../../transport/node/serve-http.ts";
import type { CommandContext } from "../command.ts";
import { printable } from "../terminal/printable.ts";
import { UsageError } from "../usage-error.ts";

/** What a file of options may say: a JSON file, or what a module exports as its default. */
export interface GatewaySettings {
  /** Options of `openGateway`. */
  readonly gateway?: Omit<GatewayOptions, "store"> | undefined;
  /** Options of `serveHttp`. */
  readonly serve?: ServeHttpOptions | undefined;
  /** An authenticator, or the options of `jwt`. */
  readonly auth?: Authenticator | JwtOptions | undefined;
  /** The URL of a store, or a store. */
  readonly store?: string | Store | undefined;
}

const settingNames: OptionNames<GatewaySettings> = { gateway: true, serve: true, auth: true, store: true };

/** Options of the command line, which go before what the file says. */
export interface GatewayFlags {
  readonly options: string | undefined;
  readonly port: number | undefined;
  readonly host: string | undefined;
  readonly "allowed-host": readonly string[];
  readonly store: string | undefined;
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
  readonly anonymous: boolean;
}

/** How a gateway is opened and served. */
export interface ReadySettings {
  readonly gateway: Omit<GatewayOptions, "store">;
  readonly serve: ServeHttpOptions;
  readonly store: Store | undefined;
  /** True when the store is in this process alone. */
  readonly isAlone: boolean;
}

/** Reads the file of options, puts the command line over it, and opens the store. */
export async function readGatewaySettings(flags: GatewayFlags, cwd: string): Promise<ReadySettings> {
  const said = flags.options === undefined ? {} : await readSettings(resolve(cwd, flags.options));
  const auth = authOf(flags, said);
  const serve: ServeHttpOptions = {
    ...said.serve,
    ...(flags.port !== undefined && { port: flags.port }),
    ...(flags.host !== undefined && { host: flags.host }),
    ...(flags["allowed-host"].length > 0 && { allowedHosts: flags["allowed-host"] }),
    ...(auth && { auth }),
  };
  if (isPublic(serve.host) && serve.auth === undefined && !flags.anonymous) throw openToAll(serve.host ?? "");
  const given = flags.store ?? said.store;
  const store = typeof given === "string" ? await storeAt(given) : given;
  const isAlone = store === undefined || (typeof given === "string" && given.startsWith("memory:"));
  return { gateway: said.gateway ?? {}, serve, store, isAlone };
}

/** Options of `openGateway`, with what the command line adds to all gateways. */
export function toGatewayOptions(
  { gateway, store }: ReadySettings,
  { say, style, env }: CommandContext,
): GatewayOptions {
  return {
    watch: true,
    onConfigProblem: (message) => say(`${style.yellow("warning")}: ${printable(message)}`),
    ...gateway,
    ...(store && { store }),
    environment: { ...gateway.environment, env: gateway.environment?.env ?? env },
  };
}

function authOf({ issuer, audience }: GatewayFlags, { auth }: GatewaySettings): Authenticator | undefined {
  if ((issuer === undefined) !== (audience === undefined))
    throw new UsageError(
      "--issuer and --audience belong together",
      "the issuer makes the tokens, the audience is this gateway",
    );
  if (issuer !== undefined && audience !== undefined) return jwt({ issuer, audience });
  return auth === undefined || typeof auth === "function" ? auth : jwt(auth);
}

async function storeAt(url: string): Promise<Store> {
  try {
    return await openStore(url);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new UsageError(
      `the store cannot be opened: ${error.message}`,
      "give another --store, such as redis://127.0.0.1",
    );
  }
}

function isPublic(host: string | undefined): boolean {
  return host !== undefined && !/^(127\.|::1$|localhost$)/.test(host);
}

function openToAll(host: string): UsageError {
  return new UsageError(
    `on ${host} everybody who reaches the gateway could use its servers`,
    "give --issuer and --audience, or auth in a file for --options; --anonymous if that is meant",
  );
}

async function readSettings(path: string): Promise<GatewaySettings> {
  const settings = path.endsWith(".json") ? readJson(path) : await readModule(path);
  if (!isObject(settings))
    throw invalid(path, "must be an object with gateway, serve, auth and store, all of them optional");
  checkOptionNames(path, settings, settingNames);
  return settings;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw invalid(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

async function readModule(path: string): Promise<unknown> {
  try {
    const { default: settings } = await import(pathToFileURL(path).href);
    return typeof settings === "function" ? await settings() : settings;
  } catch (cause) {
    throw invalid(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function invalid(path: string, problem: string, cause?: unknown): McpError {
  return new McpError("invalid-config", `${path}: ${problem}`, {
    data: { path },
    ...(cause !== undefined && { cause }),
  });
}
