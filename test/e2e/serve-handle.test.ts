import { connect as connectTo, createServer as createNetServer } from "node:net";
import { describe, expect, it } from "vitest";
import { lineChannel } from "../../src/transport/node/line-channel.ts";
import { until } from "../fixtures/children/processes.ts";
import { connect, createServer, serveChannel, serveHttp, tool } from "./support/built.ts";
import { script } from "./support/places.ts";
import { openRaw, startRaw } from "./support/raw-peer.ts";

const program = script("test/fixtures/children/serve-handle.mjs");
const shop = () => createServer({ name: "shop", version: "1.0.0", tools: { hi: tool({ run: () => "hi" }) } });

describe("what serving gives", () => {
  it("serveStdio resolves when it serves, and tells when the client has hung up (C153)", async () => {
    const peer = await startRaw(program);
    await until(() => peer.stderr() === "serving\n");
    peer.child.stdin.end();
    expect(await peer.ended).toEqual({ code: 0, signal: null });
    expect(peer.stderr()).toBe("serving\nclosed\n");
  });

  it("serveStdio can be ended from here: what is open is answered (C153)", async () => {
    const peer = await openRaw(program);
    expect(await peer.call("quit")).toBe("bye");
    expect(await peer.ended).toEqual({ code: 0, signal: null });
    expect(peer.stderr().split("\n").toSorted()).toEqual(["", "close settled", "closed", "closing", "serving"]);
  });

  it("serveHttp tells when it is closed, whoever closed it (C153)", async () => {
    const serving = await serveHttp(shop(), { port: 0 });
    let isClosed = false;
    const closed = serving.closed.then(() => {
      isClosed = true;
    });
    await using client = await connect(serving.url);
    await client.callTool("hi");
    expect(isClosed).toBe(false);
    await serving.close();
    await closed;
    expect(isClosed).toBe(true);
  });

  it("serveChannel of plugbay/server serves a client on any channel, here a socket (F220)", async () => {
    const server = shop();
    const handles: Promise<Awaited<ReturnType<typeof serveChannel>>>[] = [];
    const listener = createNetServer((socket) => handles.push(serveChannel(server, lineChannel(socket, socket))));
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address() as { port: number };
    const open = async () => {
      const socket = connectTo(port, "127.0.0.1");
      return connect(lineChannel(socket, socket));
    };
    const [one, two] = [await open(), await open()];
    for (const client of [one, two]) expect(await client.callTool("hi")).toMatchObject({ content: [{ text: "hi" }] });
    await one.close();
    const [first, second] = await Promise.all(handles);
    await first?.closed;
    await second?.close();
    expect(await two.closed).toMatchObject({ code: "connection-closed" });
    listener.close();
  });

  it("serveChannel rejects when the server is defined badly (F220)", async () => {
    const input = { type: "object", properties: { a: { pattern: "(a+)+$" } } } as const;
    const bad = createServer({ name: "bad", version: "1", tools: { slow: tool({ input, run: () => "ran" }) } });
    const socket = connectTo(await nobody(), "127.0.0.1").on("error", () => {});
    await expect(serveChannel(bad, lineChannel(socket, socket))).rejects.toMatchObject({ code: "invalid-definition" });
  });
});

/** A port where connections are taken, and nothing is said. */
async function nobody(): Promise<number> {
  const listener = createNetServer((socket) => socket.on("end", () => socket.end()).resume());
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  listener.unref();
  return (listener.address() as { port: number }).port;
}
