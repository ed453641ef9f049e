import { describe, expect, it } from "vitest";
import { callOf, messagesOf, serveFake } from "../../../test/support/fake-endpoint.ts";
import { createHttpService } from "../../../test/support/http-service.ts";
import { request } from "../../../test/support/served.ts";
import { readBlocks } from "../../../test/support/sse-text.ts";
import { createManualClock } from "../../testing/clock.ts";
import type { HttpOptions } from "../../transport/http/options.ts";

const TTL = 1_800_000;

/** Sessions on a platform where a timer ends with the request that set it. */
function serve(options: HttpOptions = {}) {
  const manual = createManualClock();
  /** What requests have set that go on. */
  const after = (): (() => void) => () => {};
  const clock = Object.assign(createManualClock(), { requestBound: true, after, now: manual.now });
  const service = createHttpService();
  const served = serveFake(service.server, { clock, ...options });
  const ping = (session: Readonly<Record<string, string>>) => served.post(request(99, "ping"), session).sent?.status;
  return { ...service, ...served, ping, advance: manual.advance };
}

describe("sessions where timers end with their request", () => {
  it("end when a later request finds that their time is over (I2)", async () => {
    const { open, ping, advance } = serve();
    const [old, young] = [await open(), await open()];
    advance(TTL / 2);
    expect(ping(young)).toBe(200);
    advance(TTL / 2);
    expect([ping(young), ping(old)]).toEqual([200, 404]);
  });

  it("go on after they have been at rest (I2)", async () => {
    const { open, post, ping, advance } = serve();
    const session = await open();
    for (let look = 1; look <= 3; look++) {
      advance(TTL / 4);
      expect(ping(session)).toBe(200);
    }
    advance(TTL / 2);
    await open();
    const reply = post(callOf(1, "echo", { text: "x" }), session);
    await reply.begun;
    expect(messagesOf(reply)).toMatchObject([{ id: 1, result: { content: [{ text: "x" }] } }]);
  });

  it("tell a client that comes back for an answer that there will be none (I2)", async () => {
    const { open, post, get, settled } = serve();
    const session = await open();
    const reply = post(request(1, "resources/read", { uri: "test://polled/a" }), session);
    await settled();
    const [first] = readBlocks(reply.sink?.text ?? "");
    reply.lose();
    const resumed = get({ ...session, "last-event-id": first?.id ?? "" });
    await settled();
    expect(messagesOf(resumed).at(-1)).toMatchObject({
      id: 1,
      error: { code: -32000, data: { reason: "connection-closed", safeToRetry: false } },
    });
  });

  it("do not live for ever because a request has ended without a word (I2)", async () => {
    const { open, post, get, ping, holding, advance } = serve();
    const session = await open();
    const call = post(callOf(1, "hold"), session);
    const stream = get(session);
    await holding(1);
    advance(2 * TTL);
    expect(ping(session)).toBe(200);
    call.lose();
    stream.lose();
    advance(2 * TTL);
    await open();
    expect(ping(session)).toBe(404);
  });
});
