import type { JsonObject } from "../../json/json.ts";
import type { Decoded } from "../../protocol/codec/codec.ts";
import type { ErrorCode } from "../../protocol/errors.ts";
import { isLogLevel, logLevels } from "../../protocol/logging.ts";
import type { Auth, ServerCapabilities } from "../../protocol/peer.ts";
import { uriTooLong } from "../../transport/listen-bounds.ts";
import type { Session } from "../codec/codec.ts";
import type { Feed } from "./change-feed.ts";

/** What the methods of a session act on. */
export interface SessionParts {
  /** What the client was told in the handshake. */
  readonly capabilities: ServerCapabilities;
  readonly feed: Feed;
  /** Characters of a URI that is subscribed to. */
  readonly maxUriLength: number;
  /** Who asks. */
  readonly auth: Auth | undefined;
  setLogLevel(level: NonNullable<Session["logLevel"]>): void;
}

type SessionMethod = (params: JsonObject, parts: SessionParts) => Decoded<JsonObject> | Promise<Decoded<JsonObject>>;

/** The requests that change the session itself. Later revisions do without them, so the model does not know them. */
export const sessionMethods: ReadonlyMap<string, SessionMethod> = new Map<string, SessionMethod>([
  ["logging/setLevel", setLevel],
  ["resources/subscribe", (params, parts) => changeSubscription("subscribe", params, parts)],
  ["resources/unsubscribe", (params, parts) => changeSubscription("unsubscribe", params, parts)],
]);

function setLevel({ level }: JsonObject, { capabilities, setLogLevel }: SessionParts): Decoded<JsonObject> {
  if (capabilities.logging === undefined) return refuse("method-not-found", "unknown method logging/setLevel");
  if (!isLogLevel(level)) return refuse("invalid-params", `params.level must be one of ${logLevels.join(", ")}`);
  setLogLevel(level);
  return done;
}

async function changeSubscription(
  verb: "subscribe" | "unsubscribe",
  { uri }: JsonObject,
  { capabilities, feed, maxUriLength, auth }: SessionParts,
): Promise<Decoded<JsonObject>> {
  const known = capabilities.resources?.subscribe === true;
  if (!known) return refuse("method-not-found", `unknown method resources/${verb}`);
  if (typeof uri !== "string") return refuse("invalid-params", "params.uri must be a string");
  const failure = uri.length > maxUriLength ? uriTooLong(uri, maxUriLength) : await feed[verb](uri, auth);
  return failure === undefined ? done : { ok: false, failure };
}

const done: Decoded<JsonObject> = { ok: true, value: {} };

function refuse(code: ErrorCode, message: string): Decoded<never> {
  return { ok: false, failure: { code, message } };
}
