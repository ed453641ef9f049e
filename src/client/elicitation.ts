import { isObject, type JsonObject } from "../json/json.ts";
import { McpError } from "../protocol/errors.ts";
import type { ElicitFormParams, ElicitResult, ElicitUrlParams } from "../protocol/input.ts";
import { checkFormSchema, fillDefaults } from "../schema/form.ts";
import { toProvedValidator } from "../schema/to-validator.ts";
import type { Clock } from "../std/clock.ts";
import { onSignal } from "./call-options.ts";
import { breach } from "./output-check.ts";

/** A form for the user to fill. */
export interface ElicitForm {
  readonly message: string;
  /** A flat object of primitive fields. */
  readonly requestedSchema: JsonObject;
}

/** A page for the user to open. Show the whole URL and ask before opening it; do not fetch it. */
export interface ElicitUrl {
  readonly message: string;
  readonly url: URL;
  /** The host name in ASCII, such as `xn--pple-43d.com`, so that look-alike letters are visible. */
  readonly host: string;
  /**
   * Resolves to true when the server reports that the user is done on the page. Resolves to false when no report can
   * come: the user declined, the request was cancelled, the client was closed, or ten minutes have passed. Never
   * rejects. Undefined for a server that sends no report: only servers of 2025-11-25 may send one.
   */
  readonly completed: Promise<boolean> | undefined;
}

/**
 * What a handler may return: a full result, or just the content of an accepted
 * form. An object with `action` and no members but those of a result is taken
 * for a result, so a form whose only field has that name needs the full one.
 */
export type ElicitReply = ElicitResult | JsonObject;

/** Has a form filled. Content leaves only with `accept`, completed by the defaults of the schema and checked against it. */
export async function elicitForm(
  { message, requestedSchema }: ElicitFormParams,
  fill: (form: ElicitForm) => ElicitReply | Promise<ElicitReply>,
): Promise<ElicitResult> {
  const schema = isObject(requestedSchema) ? requestedSchema : anyForm;
  const problem = checkFormSchema({ properties: {}, ...schema });
  if (problem !== undefined) throw new McpError("invalid-params", `requestedSchema is not a form: ${problem}`);
  const { content, ...reply } = toResult(await fill({ message, requestedSchema: schema }));
  if (reply.action !== "accept") return reply;
  return { ...reply, content: await checkContent(schema, fillDefaults(schema, content ?? {})) };
}

const anyForm: JsonObject = { type: "object" };

async function checkContent(schema: JsonObject, content: JsonObject): Promise<JsonObject> {
  const validator = await toProvedValidator(schema);
  if (!validator.ok) throw new McpError("invalid-params", `requestedSchema cannot be checked: ${validator.problem}`);
  const checked = await validator.value.check(content);
  if (checked.ok) return content;
  throw breach("the content given by onElicit does not match the form", checked.issues);
}

/** Asks the user to open a page. Rejects URLs that must not be opened before the handler sees them. */
export async function elicitLink(
  { message, url: text, elicitationId }: ElicitUrlParams,
  pendingPages: PendingPages,
  signal: AbortSignal,
  open: (link: ElicitUrl) => ElicitReply | Promise<ElicitReply>,
): Promise<ElicitResult> {
  const url = readLink(text);
  const page = elicitationId === undefined ? undefined : pendingPages.start(elicitationId, signal);
  try {
    const { completed } = page ?? {};
    const { content: _, ...reply } = toResult(await open({ message, url, host: url.hostname, completed }));
    if (reply.action !== "accept") page?.end();
    return reply;
  } catch (error) {
    page?.end();
    throw error;
  }
}

function readLink(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw new McpError("invalid-params", "params.url, the page to open, is not a URL");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
    throw new McpError("invalid-params", `the url to open must be https, not ${url.protocol}//${url.host}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new McpError("invalid-params", `the url to open must not hold credentials: ${url.host}`);
  }
  return url;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function toResult(reply: ElicitReply): ElicitResult {
  if (!isObject(reply)) throw new McpError("invalid-response", "the handler of elicitation/create returned no object");
  return isResult(reply) ? reply : { action: "accept", content: reply };
}

function isResult(reply: JsonObject): reply is ElicitResult & JsonObject {
  const { action } = reply;
  const isAction = action === "accept" || action === "decline" || action === "cancel";
  return isAction && Object.keys(reply).every((key) => resultKeys.has(key));
}

const resultKeys: ReadonlySet<string> = new Set(["action", "content", "_meta"]);

/** The pages users were sent to, until their servers say that they are done there. */
interface PendingPages {
  start(id: string, signal: AbortSignal): PendingPage;
  /** Has an effect once for an id that was started, and none for any other. */
  complete(id: unknown): void;
  /** Resolves all pending pages with false. */
  close(): void;
}

interface PendingPage {
  /** Resolves to whether the server has said so. Never rejects. */
  readonly completed: Promise<boolean>;
  /** The user did not open the page. */
  end(): void;
}

/** A server that starts more is forgetting them too. */
const maxPendingPages = 100;

/** How long a user may take. */
const maxPendingMs = 600_000;

export function createPendingPages(clock: Clock): PendingPages {
  const waiting = new Map<unknown, (isDone: boolean) => void>();

  return {
    start(id, signal) {
      const [oldest] = waiting.values();
      if (waiting.size >= maxPendingPages) oldest?.(false);
      let end = (): void => {};
      const completed = new Promise<boolean>((resolve) => {
        const settle = (isDone: boolean): void => {
          if (waiting.get(id) === settle) waiting.delete(id);
          disarm();
          unlisten();
          resolve(isDone);
        };
        end = () => settle(false);
        const disarm = clock.after(maxPendingMs, end);
        const unlisten = onSignal(signal, end);
        waiting.get(id)?.(false);
        if (signal.aborted) end();
        else waiting.set(id, settle);
      });
      return { completed, end };
    },
    complete: (id) => waiting.get(id)?.(true),
    close() {
      for (const settle of [...waiting.values()]) settle(false);
    },
  };
}
