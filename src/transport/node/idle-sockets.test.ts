import type { Agent } from "node:http";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { sweepIdle } from "./http-send.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function fakeAgent() {
  const socket = { bytesWritten: 10, destroy: vi.fn() };
  const agent = { freeSockets: { a: [socket] }, sockets: {} as Record<string, unknown> };
  return { socket, agent, sweep: sweepIdle(agent as unknown as Agent) };
}

describe("a connection that nobody uses", () => {
  it("is closed after two to four seconds", () => {
    const { socket, sweep } = fakeAgent();
    sweep();
    vi.advanceTimersByTime(2_000);
    expect(socket.destroy).not.toHaveBeenCalled();
    vi.advanceTimersByTime(2_000);
    expect(socket.destroy).toHaveBeenCalledOnce();
  });

  it("is kept while it is used now and then", () => {
    const { socket, sweep } = fakeAgent();
    for (let i = 0; i < 5; i++) {
      sweep();
      vi.advanceTimersByTime(2_000);
      socket.bytesWritten++;
    }
    expect(socket.destroy).not.toHaveBeenCalled();
  });

  it("costs no timer once all are gone, and one again with the next request", () => {
    const { agent, sweep } = fakeAgent();
    sweep();
    agent.freeSockets.a = [];
    vi.advanceTimersByTime(2_000);
    expect(vi.getTimerCount()).toBe(0);
    agent.sockets.a = [{}];
    sweep();
    vi.advanceTimersByTime(10_000);
    expect(vi.getTimerCount()).toBe(1);
  });
});
