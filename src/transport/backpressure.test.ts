import { describe, expect, it, vi } from "vitest";
import { gate } from "../../test/support/served.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import type { Message } from "../jsonrpc/message.ts";
import { createBackpressuredChannel } from "./serve-channel.ts";

const message: Message = { kind: "notification", method: "m", params: {} };

function setUp(...paces: readonly (Promise<void> | undefined)[]) {
  const channel: Channel = {
    incoming: (async function* () {})(),
    send: vi.fn(() => paces[vi.mocked(channel.send).mock.calls.length - 1]),
    close: vi.fn(async () => {}),
  };
  return { channel, outlet: createBackpressuredChannel(channel) };
}

describe("an outlet", () => {
  it("is the channel it watches", async () => {
    const { channel, outlet } = setUp();
    expect(outlet.incoming).toBe(channel.incoming);
    expect(outlet.send(message)).toBeUndefined();
    expect(channel.send).toHaveBeenCalledExactlyOnceWith(message);
    await outlet.close();
    expect(channel.close).toHaveBeenCalledOnce();
  });

  it("has caught up while nothing waits", () => {
    const { outlet } = setUp(undefined, undefined);
    expect(outlet.caughtUp).toBeUndefined();
    outlet.send(message);
    expect(outlet.caughtUp).toBeUndefined();
  });

  it("is behind until the last slow message is written", async () => {
    const [first, second] = [gate(), gate()];
    const { outlet } = setUp(first.opened, second.opened, second.opened);
    expect(outlet.send(message)).toBe(first.opened);
    expect(outlet.caughtUp).toBe(first.opened);
    outlet.send(message);
    outlet.send(message);
    first.open();
    await first.opened;
    expect(outlet.caughtUp).toBe(second.opened);
    second.open();
    await outlet.caughtUp;
    expect(outlet.caughtUp).toBeUndefined();
  });

  it("passes on what a message that is no JSON throws", () => {
    const { channel, outlet } = setUp();
    vi.mocked(channel.send).mockImplementation(() => {
      throw new TypeError("no JSON");
    });
    expect(() => outlet.send(message)).toThrow("no JSON");
    expect(outlet.caughtUp).toBeUndefined();
  });
});
