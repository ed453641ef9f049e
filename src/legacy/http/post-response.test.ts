import { describe, expect, it } from "vitest";
import { createFakeReply, fakeHead } from "../../../test/support/fake-reply.ts";
import { createLoneSession } from "../../../test/support/lone-session.ts";
import { messagesIn, readBlocks } from "../../../test/support/sse-text.ts";
import type { JsonObject } from "../../json/json.ts";
import type { Message, Parsed } from "../../jsonrpc/message.ts";
import { openLiveSink } from "../../transport/http/event-sink.ts";
import { createHeartbeat } from "../../transport/http/heartbeat.ts";
import { jsonHeaders, streamHeaders } from "../../transport/http/http-message.ts";
import { PostResponse } from "./post-response.ts";

const BEAT = 15_000;

interface Changes {
  readonly expected?: number;
  readonly batch?: boolean;
  readonly alwaysStream?: boolean;
  readonly resumable?: boolean;
}

function post({ expected = 1, batch = false, alwaysStream = false, resumable = true }: Changes = {}) {
  const { clock, get, responses } = createLoneSession({}, resumable);
  const heartbeat = createHeartbeat(clock, BEAT);
  const reply = createFakeReply();
  const aside: Message[] = [];
  let done = 0;
  const http = fakeHead();
  const posted: Parsed = batch ? { kind: "batch", items: [] } : { kind: "request", id: 1, method: "x", params: {} };
  const way = new PostResponse(
    { http, reply, posted, expected },
    {
      heartbeat,
      alwaysStream,
      resumable,
      createStream: (to) => responses.create(to, resumable),
      whole: (texts) => responses.whole(texts, resumable),
      openSink: (to, headers) => openLiveSink(to, { heartbeat, maxUnreadBytes: 0, dropped: () => {} }, headers),
      aside: { send: (message) => void aside.push(message) },
      cancel: () => {},
      done() {
        done++;
      },
    },
  );
  /** What a client gets that comes back for what followed an event, counted from the first. */
  const resume = async (number: number): Promise<readonly JsonObject[]> => {
    const [first] = readBlocks(reply.sent?.body ?? reply.sink?.text ?? "");
    const again = get((first?.id ?? "").replace(/\d+$/, `${number}`));
    await clock.advanceAsync(0);
    return messagesIn(again.sent?.body ?? again.sink?.text ?? "");
  };
  return { clock, way, reply, aside, resume, http, done: () => done };
}

const success = (id: number): Message => ({ kind: "success", id, result: { id } });
const failure = (id: number): Message => ({ kind: "failure", id, error: { code: -32603, message: "no" } });
const note: Message = { kind: "notification", method: "notifications/progress", params: {} };
const question: Message = { kind: "request", id: 9, method: "roots/list", params: {} };

const wire = {
  success: (id: number) => ({ jsonrpc: "2.0", id, result: { id } }),
  failure: (id: number) => ({ jsonrpc: "2.0", id, error: { code: -32603, message: "no" } }),
  note: { jsonrpc: "2.0", method: "notifications/progress", params: {} },
  question: { jsonrpc: "2.0", id: 9, method: "roots/list", params: {} },
};
const idOf = (number: number) => expect.stringMatching(new RegExp(`^(w-)?[\\w-]{16}-${number}$`));
const prime = { id: idOf(0), retry: 1_000 };

describe("the answer to a POST", () => {
  it.each<readonly [string, Message, JsonObject]>([
    ["a result", success(1), wire.success(1)],
    ["an error", failure(1), wire.failure(1)],
  ])("C99: is %s as plain JSON", (_, message, expected) => {
    const { way, reply, done, clock } = post();
    way.headers = { "mcp-session-id": "s" };
    way.send(message);
    expect(reply.sent).toEqual({
      status: 200,
      headers: { ...jsonHeaders, "mcp-session-id": "s" },
      body: JSON.stringify(expected),
    });
    expect(done()).toBe(1);
    clock.advance(BEAT);
    expect(clock.pending).toBe(0);
  });

  it("is an array for a batch, once all of it is answered, in the order of the answers", () => {
    const { way, reply, done } = post({ expected: 2, batch: true });
    way.send(success(2));
    expect(reply.sent).toBeUndefined();
    way.send(failure(1));
    expect(JSON.parse(reply.sent?.body ?? "")).toEqual([wire.success(2), wire.failure(1)]);
    expect(done()).toBe(1);
  });

  it("is an array also for a batch of one", () => {
    const { way, reply } = post({ batch: true });
    way.send(success(1));
    expect(JSON.parse(reply.sent?.body ?? "")).toEqual([wire.success(1)]);
  });

  it("C99: is a stream from the first thing that is said before it", () => {
    const { way, reply, done } = post();
    way.headers = { "mcp-session-id": "s" };
    way.send(note);
    expect(reply.head).toEqual({ ...streamHeaders, "mcp-session-id": "s" });
    way.send(question);
    way.send(success(1));
    expect(readBlocks(reply.sink?.text ?? "")).toEqual([
      prime,
      { id: idOf(1), message: wire.note },
      { id: idOf(2), message: wire.question },
      { id: idOf(3), message: wire.success(1) },
    ]);
    expect(reply.sink?.state).toBe("ended");
    expect(done()).toBe(1);
  });

  it("keeps the answers of a batch that came before it became a stream", () => {
    const { way, reply } = post({ expected: 2, batch: true });
    way.send(success(1));
    way.send(note);
    way.send(success(2));
    expect(messagesIn(reply.sink?.text ?? "")).toEqual([wire.success(1), wire.note, wire.success(2)]);
    expect(reply.sink?.state).toBe("ended");
  });

  it("C108: is a stream with ids where only streams are wanted", async () => {
    const { way, reply, resume } = post({ alwaysStream: true });
    way.headers = { "mcp-session-id": "s" };
    way.send(success(1));
    expect(reply.sent).toMatchObject({ status: 200, headers: { ...streamHeaders, "mcp-session-id": "s" } });
    expect(readBlocks(reply.sent?.body ?? "")).toEqual([prime, { id: idOf(1), message: wire.success(1) }]);
    expect(await resume(0)).toEqual([wire.success(1)]);
  });

  it("becomes a stream when it takes more than a beat, so that it can be kept alive", () => {
    const { way, reply, clock } = post();
    clock.advance(BEAT);
    expect(reply.sink).toBeUndefined();
    clock.advance(BEAT);
    expect(readBlocks(reply.sink?.text ?? "")).toEqual([prime]);
    clock.advance(2 * BEAT);
    expect(reply.sink?.written.at(-1)).toBe(": \n\n");
    way.send(success(1));
    expect(messagesIn(reply.sink?.text ?? "")).toEqual([wire.success(1)]);
  });

  it("may throw what is no JSON, and come again", () => {
    const { way, reply, done } = post();
    expect(() => way.send({ kind: "success", id: 1, result: { n: 1n } as unknown as JsonObject })).toThrow();
    expect(done()).toBe(0);
    way.send(failure(1));
    expect(JSON.parse(reply.sent?.body ?? "")).toEqual(wire.failure(1));
  });

  it("C115: knows what brought the request", () => {
    const { way, http } = post();
    expect(way.http).toBe(http);
  });
});

describe("C113: a request that is cancelled", () => {
  it("ends with 200 and nothing", () => {
    const { way, reply, done } = post();
    way.drop(1);
    expect(reply.sent).toMatchObject({ status: 200, body: "" });
    expect(done()).toBe(1);
  });

  it("ends its stream without an answer", () => {
    const { way, reply } = post();
    way.send(note);
    way.drop(1);
    expect(messagesIn(reply.sink?.text ?? "")).toEqual([wire.note]);
    expect(reply.sink?.state).toBe("ended");
  });

  it("leaves the rest of its batch alone", () => {
    const { way, reply } = post({ expected: 2, batch: true });
    way.drop(1);
    way.send(success(2));
    expect(JSON.parse(reply.sent?.body ?? "")).toEqual([wire.success(2)]);
  });

  it("ends a batch with nothing when all of it was cancelled", () => {
    const { way, reply } = post({ expected: 2, batch: true });
    way.drop(1);
    way.drop(2);
    expect(reply.sent).toMatchObject({ status: 200, body: "" });
  });
});

describe("edge 12: a client that left", () => {
  it("is told aside what is no answer, when it had no stream", () => {
    const { way, reply, aside, done, clock } = post();
    reply.leave();
    way.send(note);
    clock.advance(3 * BEAT);
    way.closeStream();
    way.send(success(1));
    expect(aside).toEqual([note]);
    expect([reply.sent, reply.sink]).toEqual([undefined, undefined]);
    expect(done()).toBe(1);
  });

  it("finds everything, with the answer, when it comes back for its stream", async () => {
    const { way, reply, aside, resume, done } = post();
    way.send(note);
    reply.leave();
    way.send(question);
    way.send(success(1));
    expect(aside).toEqual([]);
    expect(messagesIn(reply.sink?.text ?? "")).toEqual([wire.note]);
    expect(await resume(1)).toEqual([wire.question, wire.success(1)]);
    expect(done()).toBe(1);
  });

  it("is told aside what comes after its answer", () => {
    const { way, aside } = post();
    way.send(success(1));
    way.send(note);
    expect(aside).toEqual([note]);
  });
});

describe("C114: hanging up", () => {
  it("ends the connection with a hint, before and after there was something to say", async () => {
    const { way, reply, resume } = post();
    way.closeStream(500);
    expect(readBlocks(reply.sink?.text ?? "")).toEqual([prime, { retry: 500 }]);
    expect(reply.sink?.state).toBe("ended");
    way.send(note);
    way.send(success(1));
    expect(await resume(0)).toEqual([wire.note, wire.success(1)]);
  });

  it("does nothing to clients that would not come back", () => {
    const { way, reply } = post({ resumable: false });
    way.closeStream();
    expect(reply.sink).toBeUndefined();
    way.send(success(1));
    expect(reply.sent?.status).toBe(200);
  });

  it("does nothing after the answer", () => {
    const { way, reply } = post();
    way.send(success(1));
    way.closeStream();
    expect(reply.sink).toBeUndefined();
  });
});

it("holds back who writes while the client is slow", async () => {
  const { way, reply } = post();
  way.send(note);
  reply.sink?.stall();
  const slow = way.send(note);
  expect(slow).toBeInstanceOf(Promise);
  reply.sink?.catchUp();
  await slow;
});
