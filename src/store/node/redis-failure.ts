import { StoreError } from "../store.ts";
import type { RedisAddress } from "./redis-address.ts";

/** Why a command did not work, as far as it matters for what to do next. */
export type RedisFailure =
  /** The connection broke, or there was none. Whether the command was carried out is not known. */
  | "connection"
  /** Redis cannot do it now. It did nothing, and may do it soon. */
  | "busy"
  /** Redis does not let us in. */
  | "refused"
  /** Redis does not do it. */
  | "rejected";

const busy = /\b(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOREPLICAS)\b/;
const refused = /\b(WRONGPASS|NOAUTH|invalid password|DB index is out of range|invalid DB index)\b/;
const unknown = /\b(NOPERM|unknown command|unknown subcommand|wrong number of arguments)\b/i;

export function failureOf(error: unknown): RedisFailure {
  if (!(error instanceof Error) || error.name !== "ReplyError") return "connection";
  if (busy.test(error.message)) return "busy";
  return refused.test(error.message) ? "refused" : "rejected";
}

/** Tells of failures without giving away how one gets in. */
export interface Teller {
  /** Host and port. */
  readonly where: string;
  /** What an error says. The error itself must not be passed on: it holds what was sent. */
  say(error: unknown): string;
  /** The error for the caller whose command Redis answered with an error. */
  rejection(error: unknown): StoreError;
}

export function createTeller({ host, port, password }: RedisAddress): Teller {
  const where = `${host.includes(":") ? `[${host}]` : host}:${port}`;

  const say = (error: unknown): string => {
    const text = textOf(error);
    if (password === undefined) return text;
    return text.replaceAll(password, "***").replaceAll(encodeURIComponent(password), "***");
  };

  return {
    where,
    say,
    rejection(error) {
      const text = say(error);
      if (failureOf(error) === "refused") return new StoreError("invalid", `redis: ${where} refused us: ${text}`);
      return new StoreError(unknown.test(text) ? "unsupported" : "unavailable", `redis: ${where}: ${text}`);
    },
  };
}

/** Errors of several attempts at once have no text of their own. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ("code" in error ? String(error.code) : error.name);
}
