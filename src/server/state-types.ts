import type { JsonObject } from "../json/json.ts";
import type { State } from "../protocol/state.ts";

export type { State };

/**
 * The state of a caller, as `ctx.auth.state`. Empty until you extend it, once for a whole program.
 *
 * @example declare module "plugbay/server" { interface CallerState { readonly favourites: readonly string[]; } }
 */
// biome-ignore lint/suspicious/noEmptyInterface: its members are those of the program that uses it
export interface CallerState {}

/** The state of a session, as `ctx.session.state`. Empty until you extend it, like {@link CallerState}. */
// biome-ignore lint/suspicious/noEmptyInterface: its members are those of the program that uses it
export interface SessionState {}

/** A state as handlers see it: any JSON object, until the interface is extended. */
export type KnownState<S> = [keyof S] extends [never] ? JsonObject : S;

/** The session of a client that has one: of revisions up to 2025-11-25, over stdio, a channel, or HTTP with sessions. */
export interface Session {
  /** As in the header `mcp-session-id` over HTTP: the id may be enough to use the session. */
  readonly id: string;
  /** Saved for this session in the store, until the session ends or the state was not used for seven days. */
  readonly state: State<KnownState<SessionState>>;
}
