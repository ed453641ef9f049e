import { describe, expect, it } from "vitest";
import { createManualClock } from "../../src/testing/clock.ts";
import { isRunning, until } from "../fixtures/children/processes.ts";
import { connect, createServer, tool } from "./support/built.ts";
import { script } from "./support/places.ts";
import { start, textOf } from "./support/run.ts";

const server = script("test/fixtures/children/clinging-server.mjs");
const gone = { code: "connection-closed", message: expect.stringMatching(/did not answer a ping within 3000 ms/) };

describe("pingIntervalMs", () => {
  it.each(["2026-07-28", "2025-11-25"] as const)(
    "finds a program that hangs, fails what waits for it, and ends it: %s (F122)",
    async (revision) => {
      const client = await connect(server, { revision, pingIntervalMs: 3_000 });
      const { content } = await client.callTool("pids");
      const pid = Number((content[0] as { text: string }).text);
      process.kill(pid, "SIGSTOP");
      await expect(client.callTool("pids")).rejects.toMatchObject({
        code: "connection-closed",
        message: expect.stringMatching(/did not answer a ping/),
      });
      expect(await client.closed).toMatchObject(gone);
      await until(() => !isRunning(pid));
      await expect(client.callTool("pids")).rejects.toMatchObject({ code: "connection-closed" });
      await client.close();
    },
  );

  it("finds a session whose server hangs (F122)", async () => {
    const { child } = await start(script("test/fixtures/everything-server.mjs", "--port", "0"));
    const said = textOf(child.stderr);
    await until(() => /http:\S+/.test(said()));
    const client = await connect(/http:\S+/.exec(said())?.[0] ?? "", { revision: "2025-11-25", pingIntervalMs: 3_000 });
    await client.ping();
    child.kill("SIGSTOP");
    expect(await client.closed).toMatchObject(gone);
    child.kill("SIGKILL");
    await client.close();
  });

  it("leaves a server alone that answers, and does nothing by default (F122)", async () => {
    const clock = createManualClock();
    let asked = 0;
    const shop = createServer({
      name: "shop",
      version: "1.0.0",
      middleware: [
        (next) => (call) => {
          if (call.method === "server/discover") asked++;
          return next(call);
        },
      ],
      tools: { hi: tool({ run: () => "hi" }) },
    });
    const { createMemoryChannels } = await import("../../src/testing/index.ts");
    const { serveChannel } = await import("../../src/server/index.ts");
    const open = async (pingIntervalMs?: number) => {
      const [here, there] = createMemoryChannels();
      await serveChannel(shop, there, { clock });
      return connect(here, { clock, ...(pingIntervalMs !== undefined && { pingIntervalMs }) });
    };
    const [quiet, watched] = [await open(), await open(1_000)];
    const before = asked;
    await clock.advanceAsync(10_000);
    expect(asked - before).toBe(10);
    expect(await watched.callTool("hi")).toMatchObject({ content: [{ text: "hi" }] });
    await Promise.all([quiet.close(), watched.close()]);
    await clock.advanceAsync(10_000);
    expect(asked - before).toBe(10);
    expect(await watched.closed).toBeUndefined();
  });
});
