import { asJson, type Json } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Sealer } from "../../protocol/seal.ts";
import type { Call } from "../../protocol/service.ts";
import { toBase64Url } from "../../std/base64.ts";
import { digestOf, type GivenAnswer, type ReplayState } from "./input-state.ts";

/** The state that a client brings back with its answers: all it takes to run a handler again. */
export interface Ticket extends ReplayState {
  /** Names what the call began; the same for all rounds. */
  readonly id: string;
  /** Names the suspended run; new for every round. */
  readonly run: string;
  /** The servers that may continue it. */
  readonly audience: string;
  /** The caller and the call that it is valid for. */
  readonly bound: string;
  /** In ms of the time of day. */
  readonly expires: number;
  /** How much of the journal it says: everything up to this position. */
  readonly position: number;
  /** Digests of the questions, by key. */
  readonly asked: Readonly<Record<string, string>>;
}

/** Where a ticket is opened, and when. */
interface Opening {
  readonly sealer: Sealer;
  readonly audience: string;
  readonly now: number;
}

/**
 * Opens the ticket of a call. Throws `invalid-params` when it is not a ticket, belongs to another server or call, or
 * has expired.
 */
export async function openTicket(call: Call, { sealer, audience, now }: Opening): Promise<Ticket> {
  const opened = await sealer.open(call.state ?? "");
  if (opened === undefined) throw refusedTicket("it was not issued here, or was changed");
  // The seal is authentic, so the content is a ticket.
  const ticket = opened as unknown as Ticket;
  if (ticket.audience !== audience) throw refusedTicket("it belongs to another server");
  if (ticket.bound !== (await bindingOf(call))) throw refusedTicket("it belongs to another call or caller");
  if (ticket.expires <= now) throw refusedTicket("it has expired");
  return ticket;
}

/** The answers a call brings, by key. Only what was asked counts. */
export function answersTo({ asked }: Ticket, { answers = {} }: Call): ReadonlyMap<string, GivenAnswer> {
  const given = Object.entries(asked).filter(([key]) => Object.hasOwn(answers, key));
  return new Map(given.map(([key, digest]) => [key, { answer: answers[key] as Json, asked: digest }]));
}

/** The name that a caller has given a call, for the servers of one audience. */
interface CallName {
  readonly audience: string;
  readonly key: string;
}

/**
 * Binds a ticket to the caller and the call, so that it is valid for no other. With a name: to the call of that name.
 */
export function bindingOf({ method, params, peer }: Call, named?: CallName): Promise<string> {
  const { name, arguments: input, uri } = asJson(params);
  return digestOf({ method, name, input, uri, principal: peer.auth?.principal, ...named });
}

/** A unique id. It does not begin with a hyphen, which would be an option in a shell. */
export function newId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(16))).replace(/^-/, "_");
}

export function refusedTicket(reason: string): McpError {
  return new McpError("invalid-params", `the request state is refused: ${reason}`);
}
