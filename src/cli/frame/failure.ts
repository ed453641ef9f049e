import { isObject, type Json } from "../../json/json.ts";
import { McpError } from "../../protocol/errors.ts";
import type { ExitCode } from "../command.ts";
import type { TypedTarget } from "../target/typed-target.ts";
import { UsageError } from "../usage-error.ts";
import { exitCodeOf } from "./exit-codes.ts";
import { lineFor } from "./line-for.ts";

/** A failure as it is told: the envelope of `--json` is `{ "error": ToldFailure }`. */
export interface ToldFailure {
  /** The code of an `McpError`, or `usage`. */
  readonly code: string;
  readonly message: string;
  readonly data?: Json;
  /** What to do next, where that is known. */
  readonly hint?: string;
}

interface FailureContext {
  /** The command that failed, for what its help says. */
  readonly command: string | undefined;
  readonly target: TypedTarget | undefined;
  /** Whether the user has ended it. */
  readonly interrupted: boolean;
}

/** What to tell of an error, and how to end. */
export async function toldFailure(error: unknown, context: FailureContext): Promise<Told> {
  if (error instanceof UsageError) return { told: await toldUsage(error, context), exitCode: 2 };
  if (!(error instanceof McpError)) {
    // What waits outside of the protocol ends with an error of the platform.
    if (context.interrupted) return { told: { code: "cancelled", message: "ended before it was done" }, exitCode: 130 };
    const message = error instanceof Error ? error.message : String(error);
    // A file that the user named cannot be read or written: the message of the system has its path.
    if (isFileError(error)) return { told: { code: "usage", message }, exitCode: 2 };
    return { told: { code: "internal", message, hint: reportBug }, exitCode: 1 };
  }
  const { code, message, data } = error;
  const hint = hintFor(error, context);
  const told = { code, message, ...(data !== undefined && { data }), ...(hint !== undefined && { hint }) };
  const isInterrupt = code === "cancelled" && context.interrupted;
  return { told, exitCode: isInterrupt ? 130 : exitCodeOf(error) };
}

function isFileError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && "path" in error && "code" in error;
}

interface Told {
  readonly told: ToldFailure;
  readonly exitCode: ExitCode;
}

async function toldUsage({ message, hint, unknown }: UsageError, { command }: FailureContext): Promise<ToldFailure> {
  const help = command === undefined ? "plugbay --help" : `plugbay ${command} --help`;
  return { code: "usage", message: `${message}${await didYouMean(unknown)}`, hint: hint ?? `see ${help}` };
}

async function didYouMean(unknown: UsageError["unknown"]): Promise<string> {
  if (unknown === undefined) return "";
  const { nearestTo } = await import("../../catalog/tool-index.ts");
  const near = nearestTo(unknown.name, unknown.known);
  return near.length === 0 ? "" : `; did you mean ${near.join(" or ")}?`;
}

const reportBug = "this is a bug of plugbay; please report it with what you typed";

/** The next step after an error, where its message does not say it. */
function hintFor({ code, data }: McpError, { command, target }: FailureContext): string | undefined {
  switch (code) {
    case "unauthorized":
      return command === "login" ? undefined : `sign in with: ${lineFor(target, "login")}${tokenHint(data)}`;
    case "forbidden":
      return scopesHint(data, target);
    case "denied":
      return "plugbay check shows what is not as it was approved";
    case "method-not-found":
    case "resource-not-found":
      return `see what the server has: ${lineFor(target, command === "read" ? "resources" : "tools")}`;
    case "missing-capability":
      return "the server has to ask you something: run this on a terminal, without --json and --no-input";
    case "invalid-response":
      return "the server breaks the protocol; tell whoever wrote it";
    default:
      return undefined;
  }
}

/** A server that names no authorization server in its challenge may know tokens of another kind. */
function tokenHint(data: Json | undefined): string {
  const challenge = isObject(data) && typeof data.challenge === "string" ? data.challenge : undefined;
  const isNamed = challenge === undefined || /resource_metadata=/i.test(challenge);
  return isNamed ? "" : `; or give a token that it knows: --header "authorization: Bearer <token>"`;
}

function scopesHint(data: Json | undefined, target: TypedTarget | undefined): string {
  const scopes = isObject(data) && Array.isArray(data.scopes) ? data.scopes.map((scope) => `--scope ${scope}`) : [];
  return `sign in again with: ${lineFor(target, "login", ...scopes)}`;
}
