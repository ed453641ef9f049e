import { encodeMessage, type Request, type Response } from "../../../jsonrpc/message.ts";
import type { Lost, Reply } from "../../../jsonrpc/outbound.ts";
import { modernClientOf } from "../../../protocol/codec/client-codec.ts";
import type { OpenConnection, Opening } from "../../../protocol/connection.ts";
import type { MessageLimits } from "../../../protocol/limits.ts";
import type { DiscoverResult } from "../../../protocol/methods.ts";
import { newest } from "../../../protocol/revision.ts";
import type { Call, CallOf, Outcome, Service } from "../../../protocol/service.ts";
import { createDeadlines } from "../../../std/deadlines.ts";
import { createModernTell, discoverCall, modernPeer } from "../../modern-connection.ts";
import { maskError, outcomeOf } from "../../send-call.ts";
import type { Endpoint } from "./http-endpoint.ts";
import { networkError } from "./http-errors.ts";
import { createHttpNotifier } from "./http-notifier.ts";
import { createHttpPost } from "./http-post.ts";
import { createModernHeaders } from "./modern-headers.ts";
import { type OpenRequest, OpenRequests } from "./open-requests.ts";
import { createLingering } from "./read-response.ts";
import { createKnownTools, type HttpWarn } from "./tool-headers.ts";

export interface HttpServiceOptions {
  readonly endpoint: Endpoint;
  readonly opening: Opening;
  readonly limits: MessageLimits;
  readonly warn: HttpWarn;
}

/** A server of the stateless revision behind a URL. */
export interface HttpService {
  /** Asks the server what it is. Never rejects. */
  discover(): Promise<Reply>;
  /** The status that `server/discover` was last answered with. */
  readonly lastStatus: number | undefined;
  /** The number of the next request. */
  readonly nextId: number;
  /** Calls are sent from now on, and what belongs to none is heard. */
  connect(server: DiscoverResult): OpenConnection;
  /** Ends all that is under way: open calls fail with `connection-closed`. */
  close(): void;
}

/**
 * Calls a server of the stateless revision: every call is a POST of its own, whose response is the outcome. Letting go of
 * the POST cancels the call.
 */
export function createHttpService({ endpoint, opening, limits, warn }: HttpServiceOptions): HttpService {
  const peer = modernPeer(opening);
  const codec = modernClientOf(peer);
  const deadlines = createDeadlines(opening.clock);
  const lingering = createLingering(deadlines);
  const headersFor = createModernHeaders();
  const notifier = createHttpNotifier({ endpoint, deadlines, timeoutMs: opening.timeoutMs, warn });
  const open = new OpenRequests(codec, opening);
  let lastStatus: number | undefined;
  let closed = false;

  const post = createHttpPost({
    endpoint,
    limits,
    lingering,
    tools: createKnownTools(warn),
    headersFor,
    onMessage: (message) => open.onMessage(message),
    answered(method, status) {
      if (method === "server/discover") lastStatus = status;
    },
  });

  const masked = (answer: Response): Response =>
    answer.kind === "failure" ? { ...answer, error: maskError(answer.error, endpoint.mask) } : answer;

  const run = (request: Request, body: string, waiting: OpenRequest): void => {
    post.send(request, body, waiting).then(
      (answer) => waiting.settle(masked(answer)),
      (error) => waiting.settle({ kind: "lost", reason: "undelivered", cause: networkError(endpoint.url, error) }),
    );
  };

  /** Sends a call and brings back how it was answered. Never rejects. */
  const send = (call: CallOf): Promise<Reply> => {
    if (closed) return Promise.resolve({ ...closedHere, isUnsent: true });
    return new Promise((resolve) => {
      const { method, headers } = call;
      const waiting = open.add(call, resolve);
      const { id } = waiting;
      call.onSent?.(id);
      try {
        const params = codec.encodeCall(call, call.wantsProgress ? id : undefined);
        const plain: Request = { kind: "request", id, method, params };
        const request = headers === undefined ? plain : { ...plain, headers };
        run(request, encodeMessage(request), waiting);
      } catch (cause) {
        waiting.settle({ kind: "lost", reason: "unsent", cause });
      }
    });
  };

  const service = (call: Call): Promise<Outcome> => send(call).then((reply) => outcomeOf(reply, codec, call));

  return {
    discover() {
      const ms = opening.timeoutMs;
      return new Promise((resolve) => {
        const late: Lost = { kind: "lost", reason: "timeout", ms };
        const deadline = deadlines.start({ idleMs: ms, totalMs: 0 }, () => resolve(late));
        const call = discoverCall(peer, () => void deadline.touch());
        void send(call)
          .then(resolve)
          .finally(() => deadline.stop());
      });
    },
    get lastStatus() {
      return lastStatus;
    },
    get nextId() {
      return open.lastId + 1;
    },
    connect(server) {
      open.isModern = true;
      const tell = createModernTell(codec, peer, (method, params) => {
        const headers = headersFor(method, params);
        if (!closed) void notifier.notify({ kind: "notification", method, params }, headers);
      });
      return { service: service as Service, revision: newest, server, peer, tell };
    },
    close() {
      closed = true;
      open.lose(closedHere);
      post.close();
      lingering.close();
      notifier.close();
    },
  };
}

const closedHere: Lost = { kind: "lost", reason: "closed" };
