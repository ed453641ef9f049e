import { type Answering, answerCall } from "../codec/answer.ts";
import type { Codec, Decoded, Session } from "../codec/codec.ts";
import { codecFor } from "../codec/select.ts";
import { failureOf } from "../codec/send.ts";
import { isObject, type JsonObject } from "../json/json.ts";
import type { Exchange } from "../jsonrpc/inbound.ts";
import type { Notification } from "../jsonrpc/message.ts";
import type { RpcPeer } from "../jsonrpc/peer.ts";
import { type ErrorCode, toError } from "../model/errors.ts";
import type { Answer, Question } from "../model/input.ts";
import { isLogLevel, logLevels } from "../model/logging.ts";
import { type DiscoverResult, methodRow } from "../model/methods.ts";
import { isRevision, newest, newestLegacy, type Revision } from "../model/revision.ts";
import type { Ask, Call, Outcome, Service } from "../model/service.ts";
import type { Gate } from "../std/gate.ts";
import { unreachable } from "../std/unreachable.ts";
import { askThenServe } from "./ask-then-serve.ts";
import { createFeed, type Feed } from "./feed.ts";

/** The server's end of a connection that opens with `initialize`. */
export interface ServerSession {
  request(exchange: Exchange): Promise<void> | undefined;
  notification(notification: Notification): void;
  acceptsBatches(): boolean;
  /** True once `initialize` has arrived. */
  readonly greeted: boolean;
  close(): void;
}

export interface ServerSessionOptions {
  readonly service: Service;
  /** Reaches the client, for questions and for news. */
  readonly peer: Pick<RpcPeer, "request" | "notify">;
  readonly gate: Gate;
  /** How long a client may take to answer a question. */
  readonly askTimeoutMs: number;
  /** What the service says of itself. */
  discover(): Promise<DiscoverResult>;
}

type State =
  | { readonly status: "fresh" }
  | { readonly status: "greeting" }
  | { readonly status: "greeted"; readonly link: Link }
  | { readonly status: "ready"; readonly link: Link };

/** What the handshake settled. */
interface Link {
  readonly codec: Codec;
  readonly session: Session;
  readonly server: DiscoverResult;
  readonly feed: Feed;
}

export function createServerSession(options: ServerSessionOptions): ServerSession {
  const { service, peer, gate, askTimeoutMs, discover } = options;
  let state: State = { status: "fresh" };

  const greet = async (exchange: Exchange): Promise<void> => {
    if (state.status !== "fresh") return refuse(exchange, "invalid-request", "already initialized");
    const { params } = exchange.request;
    if (typeof params.protocolVersion !== "string") {
      return refuse(exchange, "invalid-params", '"protocolVersion" must be a string');
    }
    state = { status: "greeting" };
    const codec = codecFor(offer(params.protocolVersion));
    const { info, capabilities } = codec.decodeHello(params);
    const client = { revision: codec.revision, info, capabilities };
    const server = await discover();
    const feed = createFeed({ service, codec, peer: client, send: peer.notify });
    state = { status: "greeted", link: { codec, server, feed, session: { peer: client, logLevel: "info" } } };
    exchange.succeed(codec.encodeWelcome(server));
  };

  const asker = (link: Link, exchange: Exchange): Ask => {
    return (question) => gate.leave(putQuestion({ peer, codec: link.codec, askTimeoutMs }, question, exchange));
  };

  const run = (exchange: Exchange, link: Link): Promise<void> | undefined => {
    const { codec, session } = link;
    const decoded = codec.decodeCall(exchange.request, session);
    if (!decoded.ok) return void exchange.fail(codec.encodeFailure(decoded.failure));
    const ask = asker(link, exchange);
    const serve = (call: Call): Promise<Outcome> => askThenServe(service, call, ask);
    const answering: Answering = { codec, ask, serve };
    const work = (): Promise<void> => answerCall(exchange, decoded.value, answering);
    if (methodRow(exchange.request.method).runs) return gate.run(work);
    void work();
    return undefined;
  };

  const own: ReadonlyMap<string, (params: JsonObject, link: Link) => Decoded<JsonObject>> = new Map([
    ["logging/setLevel", (params: JsonObject, link: Link) => setLevel(params, link, (next) => change(next))],
    ["resources/subscribe", (params: JsonObject, link: Link) => subscription(params, link, "subscribe")],
    ["resources/unsubscribe", (params: JsonObject, link: Link) => subscription(params, link, "unsubscribe")],
  ]);

  const change = (link: Link): void => {
    state = { status: "ready", link };
  };

  return {
    request(exchange) {
      const { method, params } = exchange.request;
      if (method === "ping") return void exchange.succeed({});
      if (method === "initialize") return greet(exchange);
      if (state.status !== "ready") return refuse(exchange, "invalid-request", "not initialized");
      const { link } = state;
      const handle = own.get(method);
      if (handle === undefined) return run(exchange, link);
      const done = handle(params, link);
      return void (done.ok ? exchange.succeed(done.value) : exchange.fail(link.codec.encodeFailure(done.failure)));
    },
    notification({ method }) {
      switch (state.status) {
        case "fresh":
        case "greeting":
        case "ready":
          return;
        case "greeted":
          if (method !== "notifications/initialized" && method !== "initialized") return;
          change(state.link);
          state.link.feed.start();
          return;
        default:
          unreachable(state);
      }
    },
    acceptsBatches: () => "link" in state && state.link.codec.revision === "2025-03-26",
    get greeted() {
      return state.status !== "fresh";
    },
    close() {
      if ("link" in state) state.link.feed.stop();
    },
  };
}

/** A revision the client asked for and we speak, else the newest that has a handshake. */
function offer(asked: string): Revision {
  return isRevision(asked) && asked !== newest ? asked : newestLegacy;
}

/** Before the handshake no codec is chosen, but all of them agree on these codes. */
function refuse(exchange: Exchange, code: ErrorCode, message: string): undefined {
  exchange.fail(codecFor(newestLegacy).encodeFailure({ code, message }));
  return undefined;
}

function setLevel({ level }: JsonObject, link: Link, change: (link: Link) => void): Decoded<JsonObject> {
  if (link.server.capabilities.logging === undefined) return unknown("logging/setLevel");
  if (!isLogLevel(level)) {
    const message = `"level" must be one of ${logLevels.join(", ")}`;
    return { ok: false, failure: { code: "invalid-params", message, data: { level: level ?? null } } };
  }
  change({ ...link, session: { ...link.session, logLevel: level } });
  return { ok: true, value: {} };
}

function subscription(
  { uri }: JsonObject,
  { server, feed }: Link,
  verb: "subscribe" | "unsubscribe",
): Decoded<JsonObject> {
  if (server.capabilities.resources?.subscribe !== true) return unknown(`resources/${verb}`);
  if (typeof uri !== "string") {
    return { ok: false, failure: { code: "invalid-params", message: '"uri" must be a string' } };
  }
  feed[verb](uri);
  return { ok: true, value: {} };
}

function unknown(method: string): Decoded<never> {
  return { ok: false, failure: { code: "method-not-found", message: `unknown method ${method}` } };
}

interface QuestionRoute {
  readonly peer: Pick<RpcPeer, "request">;
  readonly codec: Codec;
  readonly askTimeoutMs: number;
}

/** Sends a question as a request of ours. It ends with the request it belongs to. */
async function putQuestion(
  { peer, codec, askTimeoutMs }: QuestionRoute,
  question: Question,
  { abort }: Exchange,
): Promise<Answer> {
  const encoded = codec.encodeQuestion(question);
  if (!encoded.ok) throw toError(encoded.failure);
  const reply = await peer.request(question.method, () => encoded.value, {
    limits: { idleMs: askTimeoutMs, totalMs: 0 },
    onAbort: (listener) => abort.onAbort(listener),
  });
  if (reply.kind === "success" && isObject(reply.result)) return codec.decodeAnswer(question.method, reply.result);
  throw toError(failureOf(reply as Exclude<typeof reply, { kind: "success" }>, codec, question.method));
}
