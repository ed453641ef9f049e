import { describe, expect, it } from "vitest";
import { callOf, messagesOf, serveFake } from "../../../test/support/fake-endpoint.ts";
import type { FakeReply } from "../../../test/support/fake-reply.ts";
import { createHttpService } from "../../../test/support/http-service.ts";
import { eventually } from "../../../test/support/patience.ts";
import { hello, notification, request } from "../../../test/support/served.ts";
import { readBlocks } from "../../../test/support/sse-text.ts";
import type { HttpOptions } from "../../transport/http/options.ts";

const refused = (message: string) => ({ jsonrpc: "2.0", error: { code: -32600, message } });

function serve(options: HttpOptions = {}) {
  const service = createHttpService();
  const http = serveFake(service.server, { sse: true, keepAliveMs: 0, ...options });
  const open = (path = "/sse"): FakeReply => http.request("GET", "", {}, path);
  /** Posts where the stream said. */
  const say = (stream: FakeReply, message: unknown): FakeReply => {
    const [{ data = "" } = {}] = readBlocks(stream.sink?.text ?? "");
    return http.request("POST", JSON.stringify(message), {}, data);
  };
  /** Opens a stream and shakes hands. */
  const connect = async (): Promise<FakeReply> => {
    const stream = open();
    await stream.begun;
    say(stream, request(0, "initialize", hello("2024-11-05")));
    await eventually(() => expect(messagesOf(stream).length).toBe(1));
    say(stream, notification("notifications/initialized"));
    await http.settled();
    return stream;
  };
  return { ...service, ...http, open, say, connect };
}

describe("the transport of 2024-11-05", () => {
  it("says first where to post, under an id that nobody can guess", async () => {
    const { open } = serve();
    const [one, other] = [open(), open()];
    await Promise.all([one.begun, other.begun]);
    const blocks = readBlocks(one.sink?.text ?? "");
    expect(blocks).toEqual([{ event: "endpoint", data: expect.stringMatching(/^\/messages\?sessionId=[\w-]{43}$/) }]);
    expect(one.sink?.text).not.toBe(other.sink?.text);
  });

  it("answers on the stream, and accepts what is posted with 202", async () => {
    const { connect, say } = serve();
    const stream = await connect();
    const posted = say(stream, callOf(1, "echo", { text: "x" }));
    expect(posted.sent).toMatchObject({ status: 202, body: "Accepted" });
    await eventually(() => expect(messagesOf(stream).length).toBe(2));
    const blocks = readBlocks(stream.sink?.text ?? "").slice(1);
    expect(blocks.map(({ event, id }) => [event, id])).toEqual([
      ["message", undefined],
      ["message", undefined],
    ]);
    expect(messagesOf(stream)).toMatchObject([
      { id: 0, result: { protocolVersion: "2024-11-05" } },
      { id: 1, result: { content: [{ text: "x" }] } },
    ]);
  });

  it("C100: answers what is no message, and goes on", async () => {
    const { connect, say, request: send, settled } = serve();
    const stream = await connect();
    const [{ data = "" } = {}] = readBlocks(stream.sink?.text ?? "");
    expect(send("POST", "{oops", {}, data).sent?.status).toBe(202);
    say(stream, request(2, "ping"));
    await settled();
    expect(messagesOf(stream).slice(1)).toMatchObject([{ error: { code: -32700 } }, { id: 2, result: {} }]);
  });

  it("has the limits on JSON that were given", async () => {
    const { connect, say, settled } = serve({ limits: { maxJsonDepth: 4, maxJsonNodes: 100 } });
    const stream = await connect();
    say(stream, request(3, "ping", { a: { b: { c: {} } } }));
    await settled();
    expect(messagesOf(stream).at(-1)).toMatchObject({ id: 3, error: { code: -32700 } });
  });

  it("tells of changes", async () => {
    const { connect, server, settled } = serve();
    const stream = await connect();
    server.tools.remove("bump");
    await settled();
    expect(messagesOf(stream).at(-1)).toMatchObject({ method: "notifications/tools/list_changed" });
  });

  it("ends with its stream, and so do its calls", async () => {
    const { connect, say, holding, held, settled } = serve();
    const stream = await connect();
    say(stream, callOf(1, "hold"));
    await holding(1);
    stream.leave();
    await settled();
    expect(held[0]?.aborted).toBe(true);
    const late = say(stream, request(2, "ping"));
    expect(late.sent?.status).toBe(404);
    expect(messagesOf(late)).toEqual([refused("there is no such session; open one at /sse")]);
  });

  it.each([
    ["/sse", "POST", "GET"],
    ["/sse", "DELETE", "GET"],
    ["/messages", "GET", "POST"],
  ])("%s does not serve %s", (path, method, allow) => {
    const reply = serve().request(method, "", {}, path);
    expect(reply.sent).toMatchObject({ status: 405, headers: { allow } });
    expect(messagesOf(reply)).toEqual([refused(`use ${allow} here`)]);
  });

  it.each(["/messages", "/messages?sessionId=wrong", "/messages?sessionId=__proto__"])(
    "knows no session at %s",
    (url) => {
      expect(serve().request("POST", "{}", {}, url).sent?.status).toBe(404);
    },
  );

  it("is where it was asked to be", () => {
    const { open } = serve({ sse: { path: "/events", messagesPath: "/in" } });
    expect(open("/events").sink?.text).toContain("data: /in?sessionId=");
  });

  it("has room for so many clients", async () => {
    const { open, settled } = serve({ budgets: { principal: { maxSessions: 1 } } });
    const first = open();
    const reply = open();
    expect(reply.sent).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    expect(messagesOf(reply)).toMatchObject([
      { error: { data: { limit: "maxSessions", max: 1, scope: "principal" } } },
    ]);
    first.leave();
    await settled();
    expect(open().sink).toBeDefined();
  });

  it("counts what a client says of itself until its stream ends (S9)", async () => {
    const { open, say, settled, endpoint } = serve({ budgets: { principal: { maxHeldBytes: 3_000_000 } } });
    const large = (id: number) =>
      request(id, "initialize", { ...hello("2024-11-05"), clientInfo: { name: "x".repeat(1_000_000), version: "1" } });
    const [first, second] = [open(), open()];
    await Promise.all([first.begun, second.begun]);
    expect(say(first, large(0)).sent?.status).toBe(202);
    await settled();
    expect(endpoint.status().held.heldBytes).toBeGreaterThan(1_000_000);
    expect(say(second, large(0)).sent?.status).toBe(202);
    await settled();
    expect(say(open(), large(0)).sent).toMatchObject({ status: 429 });
    first.leave();
    second.leave();
    await settled();
    expect(endpoint.status().held.heldBytes).toBe(0);
  });

  it("has room for so many posts of one client", async () => {
    const { connect, say } = serve();
    const stream = await connect();
    const statuses = Array.from({ length: 66 }, (_, id) => say(stream, request(id, "ping")).sent);
    expect(statuses.slice(0, 64).every((sent) => sent?.status === 202)).toBe(true);
    expect(statuses[65]).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
  });

  it("answers what is open when the server closes, and takes no new clients", async () => {
    const { connect, say, open, holding, release, endpoint, settled } = serve();
    const stream = await connect();
    say(stream, callOf(1, "hold"));
    await holding(1);
    const closed = endpoint.close();
    expect(open().sent).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    say(stream, callOf(2, "hold"));
    await settled();
    release();
    await closed;
    expect(messagesOf(stream).slice(1)).toMatchObject([
      { id: 2, error: { code: -32603 } },
      { id: 1, result: { content: [{ text: "held" }] } },
    ]);
    expect(stream.sink?.state).toBe("ended");
  });
});
