import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { createManualClock } from "../../src/testing/clock.ts";
import { script as child, isRunning, until } from "../fixtures/children/processes.ts";
import { connect } from "./support/built.ts";

// `connectTimeoutMs` is for all of connecting. The clock is the test's, the servers are real.

/** A child that tells on stderr who it is and what it is asked. */
function listening(name: string, ...args: readonly string[]) {
  let said = "";
  const stderr = (text: string): void => {
    said += text;
  };
  return {
    command: { ...child(name, ...args), stderr },
    pid: () => Number(/pid (\d+)/.exec(said)?.[1]),
    heard: () => said.split("\n").slice(1, -1),
  };
}

describe("a server that does not answer", () => {
  it("on stdio fails the connection at the limit, and the error says what was tried until then (P4, X15)", async () => {
    const clock = createManualClock();
    const { command, pid, heard } = listening("mute-server.mjs", "silent");
    const failed = expect(connect(command, { clock, connectTimeoutMs: 1_500 })).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringMatching(
        /^the program ".*node" did not answer within 1500 ms; connectTimeoutMs sets the limit; tried server\/discover \(1500 ms: no answer\), initialize 2025-11-25 \(750 ms: no answer\)$/,
      ),
      data: {
        phase: "connect",
        timeoutMs: 1_500,
        attempts: [
          { opening: "server/discover", ms: 1_500, answer: "no answer" },
          { opening: "initialize 2025-11-25", ms: 750, answer: "no answer" },
        ],
      },
    });
    await until(() => heard().includes("server/discover"));
    await clock.advanceAsync(750);
    await until(() => heard().includes("initialize"));
    await clock.advanceAsync(749);
    expect(isRunning(pid())).toBe(true);
    await clock.advanceAsync(1);
    await failed;
    await until(() => !isRunning(pid()));
    expect(heard()).toEqual(["server/discover", "initialize"]);
  });

  it("and does not end either fails the connection all the same, and is ended afterwards (P4)", async () => {
    const clock = createManualClock();
    const { command, pid } = listening("mute-server.mjs", "silent", "stubborn");
    const failed = expect(connect(command, { clock, connectTimeoutMs: 1_500 })).rejects.toMatchObject({
      code: "timeout",
    });
    await until(() => isRunning(pid()));
    await clock.advanceAsync(1_500);
    await failed;
    expect(isRunning(pid())).toBe(true);
    // A second to end by itself, a second after SIGTERM.
    await clock.advanceAsync(2_100);
    await until(() => !isRunning(pid()));
  });

  it("at a URL fails the connection at the limit, and its requests are ended (P4, X15)", async () => {
    const clock = createManualClock();
    let asked = 0;
    let left = 0;
    const server = createServer((request) => {
      asked++;
      request.socket.on("close", () => left++);
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.on("listening", resolve));
    const { port } = server.address() as AddressInfo;
    const connecting = connect(`http://127.0.0.1:${port}/mcp?key=secret`, { clock, connectTimeoutMs: 1_500 });
    const failed = expect(connecting).rejects.toMatchObject({
      code: "timeout",
      message:
        `http://127.0.0.1:${port} did not answer within 1500 ms; connectTimeoutMs sets the limit; ` +
        "tried server/discover (1500 ms: no answer), initialize 2025-11-25 (750 ms: no answer)",
    });
    await until(() => asked === 1);
    await clock.advanceAsync(750);
    await until(() => asked === 2);
    await clock.advanceAsync(750);
    await failed;
    await until(() => left === 2);
    server.close();
  });
});

describe("a server that does not answer what it does not know", () => {
  it("is greeted in half of the time, and connected to (P4)", async () => {
    const clock = createManualClock();
    const { command, heard } = listening("mute-server.mjs");
    const connecting = connect(command, { clock, connectTimeoutMs: 1_500 });
    await until(() => heard().includes("server/discover"));
    await clock.advanceAsync(750);
    const client = await connecting;
    expect(client.revision).toBe("2025-11-25");
    await client.close();
  });
});
