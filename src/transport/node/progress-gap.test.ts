import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { until } from "../../../test/fixtures/children/processes.ts";
import { gate, modern, request } from "../../../test/support/served.ts";
import type { JsonObject } from "../../json/json.ts";
import { createServer, tool } from "../../server/index.ts";
import { createManualClock } from "../../testing/clock.ts";
import { serveChannel } from "../serve-channel.ts";
import { openStdio } from "./serve-stdio.ts";

/** A server on stdio, whose clock is the test's. */
function setUp(progressGapMs?: number) {
  const clock = createManualClock();
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const hold = gate();
  const server = createServer({
    name: "s",
    version: "1",
    logging: true,
    tools: {
      count: tool({
        run(_, ctx) {
          for (let n = 1; n <= 3; n++) ctx.progress(n, 3);
          return "counted";
        },
      }),
      pause: tool({
        async run(_, ctx) {
          ctx.progress(1);
          await hold.opened;
          return "paused";
        },
      }),
      quick: tool({ run: () => "quick" }),
    },
  });
  const channel = openStdio({
    stdin,
    stdout,
    stderr,
    clock,
    ...(progressGapMs !== undefined && { progressGapMs }),
  });
  const serving = serveChannel(channel, server, { clock });
  const written: string[][] = [];
  stdout.on("data", (chunk) => written.push(chunk.toString().trimEnd().split("\n")));
  const say = (...messages: readonly JsonObject[]) =>
    stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  /** What was written so far: the ids of responses, and `progress`. */
  const lines = () => written.flat().map((line) => JSON.parse(line).id ?? "progress");
  const count = (n: number) => until(() => lines().length >= n);
  return { clock, stdin, say, count, lines, serving, hold };
}

const call = (id: number, name: string) =>
  request(id, "tools/call", modern({ name, arguments: {} }, { progressToken: id }));

describe("the response of a call that reports progress", () => {
  it.each([
    [undefined, 10],
    [50, 50],
  ])(
    "is written a little after that, with progressGapMs %s after %i ms; other calls do not wait (I5)",
    async (gapMs, ms) => {
      const { clock, say, count, lines } = setUp(gapMs);
      say(call(1, "count"), call(2, "quick"));
      await count(4);
      await clock.advanceAsync(ms - 1);
      say(call(3, "quick"));
      await count(5);
      expect(lines()).toEqual(["progress", "progress", "progress", 2, 3]);
      await clock.advanceAsync(1);
      await count(6);
      expect(lines()).toEqual(["progress", "progress", "progress", 2, 3, 1]);
    },
  );

  it("is written at once when the progress was written long ago (I5)", async () => {
    const { clock, say, count, lines, hold } = setUp();
    say(call(1, "pause"));
    await count(1);
    await clock.advanceAsync(10);
    hold.open();
    await count(2);
    expect(lines()).toEqual(["progress", 1]);
  });

  it("is written at once when the gap is off", async () => {
    const { say, count, lines } = setUp(0);
    say(call(1, "count"));
    await count(4);
    expect(lines()).toEqual(["progress", "progress", "progress", 1]);
  });

  it("is not lost when the client hangs up meanwhile (I5)", async () => {
    const { stdin, say, lines, serving } = setUp();
    say(call(1, "count"));
    stdin.end();
    await serving.ended;
    expect(lines()).toEqual(["progress", "progress", "progress", 1]);
  });
});
