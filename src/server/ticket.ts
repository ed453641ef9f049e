import { asJson, type Json } from "../json/json.ts";
import { McpError } from "../model/errors.ts";
import type { Call } from "../model/service.ts";
import { toBase64Url } from "../std/base64.ts";
import type { Recollection, Told } from "./dialogue.ts";
import { digestOf } from "./digest.ts";
import type { Sealer } from "./seal.ts";

/** The state that a client brings back with its answers: all it takes to run a handler again. */
export interface Ticket extends Recollection {
  /** Names what the call began; the same for all rounds. */
  readonly id: string;
  /** Names the suspended run; new for every round. */
  readonly run: string;
  /** Who may use it, and for which call. */
  readonly bound: string;
  /** In ms of the time of day. */
  readonly expires: number;
  /** Digests of the questions, by key. */
  readonly asked: Readonly<Record<string, string>>;
}

/** Reads the ticket that a call brings. Throws `invalid-params` when it is none, of another call, or too old. */
export async function openTicket(sealer: Sealer, call: Call, now: number): Promise<Ticket> {
  const opened = await sealer.open(call.state ?? "");
  if (opened === undefined) throw refusedTicket("it was not issued here, or was changed");
  // Nobody else can seal, so what opens is a ticket.
  const ticket = opened as unknown as Ticket;
  if (ticket.bound !== (await bindingOf(call))) throw refusedTicket("it belongs to another call or caller");
  if (ticket.expires <= now) throw refusedTicket("it has expired");
  return ticket;
}

/** The answers a call brings, by key. Only what was asked counts. */
export function answersTo({ asked }: Ticket, { answers = {} }: Call): ReadonlyMap<string, Told> {
  const given = Object.entries(asked).filter(([key]) => Object.hasOwn(answers, key));
  return new Map(given.map(([key, digest]) => [key, { answer: answers[key] as Json, asked: digest }]));
}

/** Ties a ticket to who asked for what, so that it is good for nothing else. With a key: to what the caller named so. */
export function bindingOf({ method, params, peer }: Call, key?: string): Promise<string> {
  const { name, arguments: input, uri } = asJson(params);
  return digestOf({ method, name, input, uri, principal: peer.auth?.principal, key });
}

/** A name that nothing else has. */
export function newId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(16)));
}

export function refusedTicket(reason: string): McpError {
  return new McpError("invalid-params", `the request state is refused: ${reason}`);
}
