import { asJson, isObject, type Json, type JsonObject } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { Call } from "../../protocol/service.ts";
import { fromBase64Url, toBase64Url } from "../../std/base64.ts";
import { digestOf, type ReplayState, type Told } from "./input-state.ts";

/** The state that a client brings back with its answers: all it takes to run a handler again. */
export interface Ticket extends ReplayState {
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

/** Turns state into a text that only its maker can read or change. */
export interface Sealer {
  seal(state: JsonObject): Promise<string>;
  /** Undefined when the text was not sealed with one of the keys, or was changed. */
  open(sealed: string): Promise<JsonObject | undefined>;
}

const IV_BYTES = 12;
const VERSION = "1.";

/**
 * Seals with AES-256-GCM.
 *
 * The first key seals, all of them open, so that keys can be replaced while
 * old state is still under way. Without keys one is made up, which other
 * processes and a restart do not know: whoever runs the server is told so when
 * it is first used.
 */
export function createSealer(secrets: readonly string[] = []): Sealer {
  const texts = secrets.length > 0 ? secrets : [toBase64Url(crypto.getRandomValues(new Uint8Array(32)))];
  let keys: Promise<readonly CryptoKey[]> | undefined;
  let isTold = secrets.length > 0;
  const load = (): Promise<readonly CryptoKey[]> => {
    keys ??= Promise.all(texts.map(importKey));
    return keys;
  };

  return {
    async seal(state) {
      if (!isTold) console.warn(madeUp);
      isTold = true;
      const [key] = await load();
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const plain = new TextEncoder().encode(JSON.stringify(state));
      const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key as CryptoKey, plain));
      const bytes = new Uint8Array(IV_BYTES + sealed.length);
      bytes.set(iv);
      bytes.set(sealed, IV_BYTES);
      return VERSION + toBase64Url(bytes);
    },
    async open(sealed) {
      if (!sealed.startsWith(VERSION)) return undefined;
      const bytes = fromBase64Url(sealed.slice(VERSION.length));
      if (bytes === undefined || bytes.length <= IV_BYTES) return undefined;
      for (const key of await load()) {
        const state = await decrypt(key, bytes);
        if (state !== undefined) return state;
      }
      return undefined;
    },
  };
}

const madeUp =
  "plugbay: made up a key for calls that ask: neither another process nor a restarted one can continue them; " +
  "give createServer stateKeys, or set PLUGBAY_STATE_KEYS";

/** Any secret text becomes a key of the right length. */
async function importKey(secret: string): Promise<CryptoKey> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  return crypto.subtle.importKey("raw", digest, "AES-GCM", false, ["encrypt", "decrypt"]);
}

async function decrypt(key: CryptoKey, bytes: Uint8Array<ArrayBuffer>): Promise<JsonObject | undefined> {
  try {
    const iv = bytes.subarray(0, IV_BYTES);
    const plain = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, bytes.subarray(IV_BYTES));
    const state = JSON.parse(new TextDecoder().decode(plain)) as Json;
    return isObject(state) ? state : undefined;
  } catch {
    // A wrong key and a changed text look the same, and both mean: not ours.
    return undefined;
  }
}
