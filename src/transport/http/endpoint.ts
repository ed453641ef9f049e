import { modernServer } from "../../codec/modern-server.ts";
import { isObject } from "../../json/json.ts";
import {
  type ErrorObject,
  encodeMessage,
  type Id,
  type Malformed,
  type Parsed,
  parseText,
  type Request,
} from "../../jsonrpc/message.ts";
import { AuthenticatedHttp } from "../../model/authenticator.ts";
import { metaKeys } from "../../model/meta.ts";
import { methodRow } from "../../model/methods.ts";
import { isLegacy, isRevision, newest, revisions } from "../../model/revision.ts";
import type { Service } from "../../model/service.ts";
import { type Admitted, createAdmission } from "./admission.ts";
import { loopbackHosts } from "./allowed-hosts.ts";
import { createDoors, warn } from "./doors.ts";
import { createGuard, type Guard, type Identified } from "./guard.ts";
import { type HttpAnswer, type HttpHead, type HttpHeaders, pathOf, refusal } from "./http-message.ts";
import { type HttpReply, jsonHeaders, sendAnswer } from "./http-reply.ts";
import type { HttpOptions, HttpWarning } from "./options.ts";

/**
 * One MCP endpoint, in terms of plain values: what reads sockets, or takes the
 * requests of a platform, is a skin around it.
 */
export interface HttpEndpoint {
  /** Judges a request by its head. */
  admit(head: HttpHead): Admitted;
  /**
   * Finds out who sends a request that was admitted; what comes of it takes the
   * place of the head. Absent where it need not be known. Never rejects.
   */
  readonly identify: ((head: HttpHead, cors: HttpHeaders) => Promise<Identified>) | undefined;
  /** Answers a request that was admitted. The body is that of a POST. */
  handle(head: HttpHead, body: string, reply: HttpReply): void;
  readonly maxBodyBytes: number;
  /** Takes nothing new, answers what is open for a while, then ends the rest. Idempotent. */
  close(): Promise<void>;
}

/** Throws `invalid-definition` when an option cannot be used. */
export function createEndpoint(service: Service, options: HttpOptions = {}): HttpEndpoint {
  const { path, allowedHosts = loopbackHosts, allowedOrigins = [], maxBodyBytes = 4_194_304, jsonLimits } = options;
  const guard = guardOf(options);
  const { modern, legacy, sse, close } = createDoors(guard?.around(service) ?? service, options);
  const limits = { hosts: allowedHosts, origins: allowedOrigins, maxBodyBytes };
  const admission = createAdmission({ ...limits, path, get: legacy !== undefined });
  const besides = new Map(
    (sse?.paths ?? []).map((beside) => [beside, createAdmission({ ...limits, path: beside, get: true })]),
  );
  let closing: Promise<void> | undefined;

  /** The answer to what no door takes. */
  const turnAway = (message: Parsed, stated: string | undefined): HttpAnswer | undefined => {
    if (isRevision(stated) && !isLegacy(stated)) return message.kind === "batch" ? noBatch : accepted;
    if (stated !== undefined && !isRevision(stated)) return unsupported(message, stated, revisions);
    return legacy === undefined ? unsupported(message, stated, [newest]) : undefined;
  };

  const post = (head: HttpHead, body: string, direct: HttpReply): void => {
    const message = parseText(body, jsonLimits);
    if (message.kind === "malformed") return void sendAnswer(direct, malformed(message));
    const isGuarded = guard !== undefined && message.kind === "request";
    const reply = isGuarded ? guard.replyTo(message.id, head, direct) : direct;
    if (closing !== undefined && isWork(message)) return void sendAnswer(reply, busy);
    const stated = head.header("mcp-protocol-version");
    if (message.kind === "request" && isModern(message, stated)) return void modern.post(message, head, reply);
    const away = turnAway(message, stated);
    if (away === undefined) legacy?.post(message, head, reply);
    else sendAnswer(reply, away);
  };

  /** GET and DELETE, which only sessions know. */
  const other = (head: HttpHead, reply: HttpReply): void => {
    const stated = head.header("mcp-protocol-version");
    if (closing !== undefined) sendAnswer(reply, busy);
    else if (stated !== undefined && !isRevision(stated)) sendAnswer(reply, unsupported(undefined, stated, revisions));
    else if (head.method === "GET") legacy?.get(head, reply);
    else legacy?.delete(head, reply);
  };

  return {
    maxBodyBytes,
    identify: guard?.identify,
    admit(head) {
      const told = guard?.tell(head);
      if (told !== undefined) return { ok: false, answer: told };
      return (besides.size > 0 ? (besides.get(pathOf(head.url)) ?? admission) : admission).admit(head);
    },
    handle(head, body, reply) {
      if (guard !== undefined && !(head instanceof AuthenticatedHttp)) return sendAnswer(reply, unidentified);
      if (besides.size > 0 && besides.has(pathOf(head.url))) return sse?.handle(head, body, reply);
      if (head.method === "POST") post(head, body, reply);
      else other(head, reply);
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function guardOf({ auth, path, allowedHosts = loopbackHosts, onWarning }: HttpOptions): Guard | undefined {
  if (auth === undefined) return undefined;
  let last: string | undefined;
  /** Where nobody listens, the same is not said again and again. */
  const tell = (message: string, kind: HttpWarning["kind"]): void => {
    if (onWarning !== undefined) return void warn(onWarning, { kind, message });
    if (message !== last) console.error(`plugbay: ${message}`);
    last = message;
  };
  return createGuard({ auth, path, hosts: allowedHosts, warn: tell });
}

const unidentified: HttpAnswer = refusal(401, "authentication is needed");
const busy: HttpAnswer = refusal(503, "the server is closing", { "retry-after": "1", connection: "close" });
const accepted: HttpAnswer = { status: 202, headers: {}, body: "" };
const noBatch: HttpAnswer = refusal(400, "batches are not supported; send one message a request");

/** Calls that are open may wait for anything else. */
function isWork({ kind }: Parsed): boolean {
  return kind === "request" || kind === "batch";
}

/** Says who sends it, or is of a kind that only modern clients send. */
function isModern({ method, params }: Request, stated: string | undefined): boolean {
  const { _meta: meta } = params;
  if (isObject(meta) && (metaKeys.protocolVersion in meta || metaKeys.clientCapabilities in meta)) return true;
  if (stated !== undefined) return isRevision(stated) && !isLegacy(stated);
  return methodRow(method).since === newest;
}

/** Nobody waits for an answer to an answer: under its id, it would be taken for one to something else. */
function malformed({ id, error, answerable }: Malformed): HttpAnswer {
  return { status: 400, headers: jsonHeaders, body: errorText(answerable ? id : null, error) };
}

function errorText(id: Id | null, error: ErrorObject): string {
  return id === null ? JSON.stringify({ jsonrpc: "2.0", error }) : encodeMessage({ kind: "failure", id, error });
}

/** The answer to a client that speaks none of these. Names them, in a way that both eras understand. */
function unsupported(message: Parsed | undefined, requested = "none", supported: readonly string[]): HttpAnswer {
  const id = message?.kind === "request" ? message.id : null;
  const error = modernServer.encodeFailure({
    code: "unsupported-revision",
    message: `unsupported protocol version; use ${supported.join(", ")}`,
    data: { supported, requested },
  });
  return { status: 400, headers: jsonHeaders, body: errorText(id, error) };
}
