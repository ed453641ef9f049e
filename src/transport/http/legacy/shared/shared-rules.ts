import type { Store } from "../../../../store/store.ts";
import { type HttpAnswer, refusal } from "../../http-message.ts";
import type { Pulse } from "../../pulse.ts";
import type { CallRules } from "../active-session.ts";
import type { StreamsOptions } from "../streams.ts";
import type { Node } from "./node.ts";
import type { SessionShelf } from "./session-shelf.ts";

/** What sessions that several processes serve have in common. */
export interface SharedRules extends CallRules, StreamsOptions {
  readonly store: Store;
  readonly shelf: SessionShelf;
  readonly node: Node;
  /** For what has to be looked at every few seconds. */
  readonly looks: Pulse;
  readonly sessionTtlMs: number;
}

/** How often that is. */
export const LOOK_MS = 2_000;

/** The answer while the store is away: the session may well be there. */
export const unavailable: HttpAnswer = refusal(503, "sessions cannot be reached now", { "retry-after": "1" });

/** What the events of a session that belong to no POST are called. */
export const ASIDE = "aside";
/** What stands in a stream where it ends. */
export const END = "";
