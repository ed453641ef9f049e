import { isObject, type JsonObject } from "../json/json.ts";
import type { Failure } from "../protocol/errors.ts";
import type { DiscoverResult } from "../protocol/methods.ts";
import type { Implementation } from "../protocol/peer.ts";
import type { Revision } from "../protocol/revision.ts";
import type { Change } from "../protocol/subscription.ts";
import { findHiddenText, type HiddenText } from "../std/hidden-text.ts";
import { quote } from "../std/text.ts";
import type { ServerLimit } from "./caller-shares.ts";
import type { ConnectionState } from "./connection-state.ts";
import type { MissingServer } from "./host-tool.ts";
import type { MaskedFailure } from "./outward.ts";
import type { ServerSlot } from "./server-slot.ts";

/** How a server of a host stands, as plain data. */
export interface ServerStatus {
  readonly name: string;
  readonly state: ConnectionState["kind"];
  /** What it speaks, and what it says of itself, while it is ready. */
  readonly revision?: Revision;
  readonly info?: Implementation;
  /** What it says of itself, and lists, that has characters which do not show, as far as that was seen. */
  readonly hiddenText?: readonly HiddenText[];
  /** Why it is `down`, `off` or `needs-auth`. */
  readonly reason?: Failure;
  /** What to do about it, where that is known. */
  readonly hint?: string;
  /** The last words of a program that ended. */
  readonly stderr?: string;
  /** When it is tried again. */
  readonly retryInMs?: number;
  /** How often in a row it has failed, while it is being connected to again. */
  readonly failures?: number;
  /** True when it failed so often that it is only tried when needed. */
  readonly isLooping?: boolean;
}

export function statusOf(slot: ServerSlot, now: number): ServerStatus {
  const { name, member } = slot;
  const { state, line } = member;
  const status = { name, state: state.kind };
  if (line !== undefined) {
    const { revision, server } = line.client;
    return { ...status, revision, info: server.serverInfo, ...hiddenTextOf(slot, server) };
  }
  if (state.kind === "connecting" && state.failures.inRow > 0) return { ...status, failures: state.failures.inRow };
  if (state.kind !== "down" && state.kind !== "off" && state.kind !== "needs-auth") return status;
  const { reason } = state;
  return {
    ...status,
    ...reasonOf(reason),
    ...stderrOf(reason),
    ...(state.kind === "down" && {
      retryInMs: Math.max(0, Math.ceil(state.retryAt - now)),
      isLooping: state.isLooping,
    }),
  };
}

/** What was seen of a server that has characters which do not show. */
function hiddenTextOf(
  slot: ServerSlot,
  { instructions, serverInfo }: DiscoverResult,
): Pick<ServerStatus, "hiddenText"> {
  const listed = [
    ...slot.tools.last.map(({ localName, hiddenText }) => ({ what: `tool ${quote(localName)}`, hiddenText })),
    ...slot.prompts.last.map(({ name, hiddenText }) => ({ what: `prompt ${quote(name)}`, hiddenText })),
    ...slot.resources.last.map(({ uri, hiddenText }) => ({ what: `resource ${quote(uri)}`, hiddenText })),
    ...slot.resourceTemplates.last.map(({ uriTemplate, hiddenText }) => ({
      what: `resource template ${quote(uriTemplate)}`,
      hiddenText,
    })),
  ].flatMap(({ what, hiddenText = [] }) =>
    hiddenText.map(({ at, characters }) => ({ at: `${what} ${at}`, characters })),
  );
  const found = [...findHiddenText({ instructions, serverInfo }), ...listed];
  return found.length === 0 ? {} : { hiddenText: found };
}

/** Why a server is missing from a list. */
export function missing(server: string, reason: Failure): MissingServer {
  return { server, ...reasonOf(reason) };
}

function reasonOf(reason: Failure): { readonly reason: Failure; readonly hint?: string } {
  const hint = hintFor(reason);
  return { reason, ...(hint !== undefined && { hint }) };
}

function stderrOf({ data }: Failure): { readonly stderr?: string } {
  return isObject(data) && typeof data.stderr === "string" ? { stderr: data.stderr } : {};
}

/** What to do about a server that cannot be reached, where its failure tells. */
function hintFor({ code, message, data }: Failure): string | undefined {
  if (code === "invalid-config") return undefined;
  const facts = isObject(data) ? data : {};
  if (facts.by === "lock")
    return "the lock refuses it: look at the server, then approve it with approveServer and host.setLock";
  if (typeof facts.reason === "string" && Object.hasOwn(programHints, facts.reason)) return programHints[facts.reason];
  // A connection that others open says it in the words of the system.
  if (/\bENOENT\b/.test(message)) return programHints["program-not-found"];
  if (/\bEACCES\b/.test(message)) return programHints["not-executable"];
  if (code === "unauthorized") return unauthorizedHint(facts);
  if (code === "forbidden") return "the credentials lack a scope that the server needs: sign in again with that scope";
  if (/ECONNREFUSED/.test(message)) return "nothing listens there: is the server started, and the port right?";
  if (/ENOTFOUND|EAI_AGAIN/.test(message))
    return "the host name is not known: is it spelled right, and is there a network?";
  if (code === "timeout" && "listTimeoutMs" in facts)
    return "the server is slow or still starting (a first npx downloads the package): await host.settled() before listing";
  if (code === "timeout")
    return "the server does not answer: does it speak MCP on stdio or at this URL? connectTimeoutMs sets the limit";
  if ("exitCode" in facts)
    return "the program ended: its last words are in stderr; run the command by hand to see all of them";
  return undefined;
}

function unauthorizedHint({ reason }: JsonObject): string {
  if (reason === "account-needed")
    return "the user has to connect an account: open the link of accounts(principal).linkUrl, or call a tool of the server";
  return reason === "interaction-required"
    ? "somebody has to sign in: await host.signIn with the name of the server"
    : "the server wants credentials: give it auth, such as oauth(), or an authorization header";
}

/** By `data.reason` of the error of a program that could not be started. */
const programHints: Readonly<Record<string, string>> = {
  "program-not-found":
    "is the program installed, and is it in PATH? If not, install it, or give the whole path; a relative path starts in cwd",
  "not-executable":
    "command must be the file of the program, and executable: chmod +x, or start its interpreter and give the file as an argument",
  "interpreter-not-found": "the first line of the file names a program that is not there: install it, or mend the line",
  "permission-denied":
    "this user may not start the file: look at the permissions of the file and of the folders above it",
  "no-such-folder": "the folder given as cwd is not there: create it, or give another cwd",
  "not-started": "the system could not start the program: run the command by hand to see more",
};

/** Something that happened to a host. */
export type HostEvent =
  | { readonly kind: "added" | "removed"; readonly server: string }
  | {
      readonly kind: "state";
      readonly server: string;
      readonly status: ServerStatus;
      readonly before: ServerStatus["state"];
    }
  /** A call of a client of the host has failed for a reason that the client was not told, but for the id. */
  | ({ readonly kind: "failed" } & MaskedFailure)
  /** A caller of the host was refused, because its share of a server is used up. */
  | ({ readonly kind: "limit-reached" } & ServerLimit)
  | { readonly kind: "changed"; readonly server: string; readonly change: Change }
  /**
   * Several tools or prompts want one name in a view. None of them has it: each is listed with the name of its server in
   * front. `view` is empty for the host as a whole, `of` has their full names.
   */
  | {
      readonly kind: "name-collision";
      readonly view: string;
      readonly list: "tools" | "prompts";
      readonly name: string;
      readonly of: readonly string[];
    }
  /** A tool is there, but must not be called. */
  | { readonly kind: "denied"; readonly server: string; readonly tool: string; readonly by: string }
  /** Something besides tools is there, but is not what the lock has approved. */
  | {
      readonly kind: "withheld";
      readonly server: string;
      readonly list: "prompts" | "resources" | "resourceTemplates" | "instructions";
      /** The name of the prompt, the URI or the template; for instructions the name of the server. */
      readonly name: string;
    };
