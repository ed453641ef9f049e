import type { Channel } from "../../../jsonrpc/channel.ts";
import { type Batch, encodeMessage, type Incoming, type Parsed, type Request } from "../../../jsonrpc/message.ts";
import { createPeer, type RpcPeer } from "../../../jsonrpc/peer.ts";
import { createServerSession } from "../../../legacy/server-session.ts";
import type { DiscoverResult } from "../../../model/methods.ts";
import { isSince } from "../../../model/revision.ts";
import type { Service } from "../../../model/service.ts";
import type { Deadlines } from "../../../std/deadlines.ts";
import { createGate } from "../../../std/gate.ts";
import type { HttpFacts } from "../../../std/http-facts.ts";
import { refusal } from "../http-message.ts";
import type { HttpReply } from "../http-reply.ts";
import { openLiveSink, type SinkRules } from "../live-sink.ts";
import { type PostRules, PostWay } from "./post-way.ts";
import { createStreams, type StreamsOptions } from "./streams.ts";

/** What the sessions of one endpoint have in common. */
export interface SessionRules extends SinkRules, StreamsOptions {
  readonly service: Service;
  readonly deadlines: Deadlines;
  readonly maxConcurrent: number;
  readonly maxOpen: number;
  readonly askTimeoutMs: number;
  readonly drainMs: number;
  readonly alwaysStream: boolean;
  discover(): Promise<DiscoverResult>;
}

/** One client between its `initialize` and its DELETE. */
export interface HttpSession {
  readonly id: string;
  /** Takes what a POST brought. */
  post(message: Parsed, http: HttpFacts, reply: HttpReply): void;
  /** Opens the session with `initialize`; `settled` hears once whether that went well. */
  open(hello: Request, post: { http: HttpFacts; reply: HttpReply }, settled: (ok: boolean) => void): void;
  /** Serves a GET: a stream of what is not an answer, or the rest of a stream that broke. */
  get(lastEventId: string | undefined, reply: HttpReply): "opened" | "too many" | "over";
  /** True while a connection or a call is open. */
  readonly busy: boolean;
  /** Ends everything. Idempotent. */
  close(): Promise<void>;
  /** Ends streams that only wait for news, and resolves when all calls are answered. */
  drain(): Promise<void>;
}

export function createHttpSession(id: string, rules: SessionRules): HttpSession {
  const { clock } = rules;
  const primes = (): boolean => session.revision !== undefined && isSince(session.revision, "2025-11-25");
  const streams = createStreams(rules, primes);
  let calls = 0;
  let closed = false;

  const channel: Channel = {
    incoming: nothing,
    send: (message) => (closed ? undefined : streams.news().write(encodeMessage(message))),
    async close() {
      closed = true;
      streams.endAll();
    },
  };

  const rpc: RpcPeer = createPeer(
    channel,
    {
      request: (exchange) => session.request(exchange),
      notification: (notification) => session.notification(notification),
      acceptsBatches: () => session.acceptsBatches(),
    },
    { maxOpen: rules.maxOpen, drainMs: rules.drainMs, clock, deadlines: rules.deadlines },
  );
  const session = createServerSession({
    service: rules.service,
    peer: rpc,
    gate: createGate({ maxRunning: rules.maxConcurrent, maxWaiting: Number.POSITIVE_INFINITY }),
    clock,
    askTimeoutMs: rules.askTimeoutMs,
    discover: rules.discover,
  });

  const posting: PostRules = {
    pulse: rules.pulse,
    alwaysStream: rules.alwaysStream,
    aside: channel,
    get resumable() {
      return primes();
    },
    createStream: streams.create,
    openSink: (to, headers) => openLiveSink(to, rules, headers),
    done() {
      calls--;
    },
  };

  const wayOf = (message: Parsed, http: HttpFacts, reply: HttpReply): PostWay => {
    calls++;
    return new PostWay({ http, reply, expected: answersOf(message), batch: message.kind === "batch" }, posting);
  };

  return {
    id,
    get busy() {
      return calls > 0 || streams.attached;
    },
    post(message, http, reply) {
      const problem = message.kind === "batch" ? batchProblem(message, session.acceptsBatches()) : undefined;
      if (problem !== undefined) return refuse(reply, problem);
      if (answersOf(message) > 0) return void rpc.take(message, wayOf(message, http, reply));
      rpc.take(message, channel);
      reply.send(202, {}, "");
    },
    open(hello, { http, reply }, settled) {
      const way = wayOf(hello, http, reply);
      // Its head says how it went, and so has to wait for that.
      rules.pulse.delete(way);
      rpc.take(hello, {
        http,
        send(message) {
          const ok = message.kind === "success";
          way.headers = ok ? { "mcp-session-id": id } : {};
          const slow = way.send(message);
          settled(ok);
          return slow;
        },
      });
    },
    get(lastEventId, reply) {
      if (lastEventId !== undefined && streams.isOver(lastEventId)) return "over";
      const found = streams.find(lastEventId);
      if (found === undefined) return "too many";
      const sink = openLiveSink(reply, rules, { "mcp-session-id": id });
      found.attach(sink);
      reply.onGone(() => found.detach(sink));
      return "opened";
    },
    async close() {
      session.close();
      await rpc.close("the session is over");
    },
    async drain() {
      session.close();
      await rpc.drain();
    },
  };
}

function batchProblem({ items }: Batch, accepted: boolean): string | undefined {
  if (!accepted) return "batches are not supported; send one message a request";
  const greets = items.some((item) => item.kind === "request" && item.method === "initialize");
  return greets ? "initialize must not be part of a batch" : undefined;
}

function refuse(reply: HttpReply, problem: string): void {
  const { status, headers, body } = refusal(400, problem);
  reply.send(status, headers, body);
}

const nothing: AsyncIterable<readonly Incoming[]> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
};

/** How many answers a POST is to be given. */
function answersOf(message: Parsed): number {
  switch (message.kind) {
    case "request":
      return 1;
    case "malformed":
      return message.answerable ? 1 : 0;
    case "batch":
      return message.items.reduce((sum, item) => sum + answersOf(item), 0);
    default:
      return 0;
  }
}
