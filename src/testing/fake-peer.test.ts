import { describe, expect, it } from "vitest";
import type { Channel } from "../jsonrpc/channel.ts";
import type { Message } from "../jsonrpc/message.ts";
import { createFakePeer } from "./fake-peer.ts";

const news: Message = { kind: "notification", method: "news", params: { n: 1 } };

async function read({ incoming }: Channel) {
  const { value, done } = await incoming[Symbol.asyncIterator]().next();
  return done ? undefined : value;
}

describe("what a fake peer says", () => {
  it("arrives as it would from the wire: messages, batches and rubbish", async () => {
    const peer = createFakePeer();
    peer.say({ jsonrpc: "2.0", id: 1, method: "m" });
    peer.say([{ jsonrpc: "2.0", method: "m" }]);
    peer.say("rubbish");
    expect(await read(peer.channel)).toEqual([{ kind: "request", id: 1, method: "m", params: {} }]);
    expect(await read(peer.channel)).toMatchObject([{ kind: "batch", items: [{ kind: "notification" }] }]);
    expect(await read(peer.channel)).toMatchObject([{ kind: "malformed", error: { code: -32700 } }]);
  });

  it("together arrives together", async () => {
    const peer = createFakePeer();
    peer.say({ jsonrpc: "2.0", method: "a" }, { jsonrpc: "2.0", method: "b" });
    expect(await read(peer.channel)).toMatchObject([{ method: "a" }, { method: "b" }]);
  });

  it("may be a notification, an answer or a refusal", async () => {
    const peer = createFakePeer();
    peer.notify("m", { n: 1 });
    peer.reply({ id: "x" }, { ok: true });
    peer.refuse({ id: 2 }, -1, "no");
    peer.refuse({ id: 3 }, -1, "no", { why: 1 });
    expect(await read(peer.channel)).toEqual([{ kind: "notification", method: "m", params: { n: 1 } }]);
    expect(await read(peer.channel)).toEqual([{ kind: "success", id: "x", result: { ok: true } }]);
    expect(await read(peer.channel)).toEqual([{ kind: "failure", id: 2, error: { code: -1, message: "no" } }]);
    expect(await read(peer.channel)).toMatchObject([{ error: { data: { why: 1 } } }]);
  });

  it("ends, or breaks", async () => {
    const [ending, breaking] = [createFakePeer(), createFakePeer()];
    ending.end();
    expect(await read(ending.channel)).toBeUndefined();
    breaking.fail(new Error("cut"));
    await expect(read(breaking.channel)).rejects.toThrow("cut");
  });
});

describe("what a fake peer hears", () => {
  it("is what would be on the wire, in order, and can be waited for by method", async () => {
    const peer = createFakePeer();
    peer.channel.send(news);
    peer.channel.send({ ...news, method: "other" });
    peer.channel.send({ kind: "success", id: 1, result: {} });
    expect(await peer.next()).toEqual({ jsonrpc: "2.0", method: "news", params: { n: 1 } });
    const late = peer.expect("late");
    peer.channel.send({ ...news, method: "late" });
    expect(await late).toMatchObject({ method: "late" });
    expect(peer.heard.map(({ method }) => method)).toEqual(["news", "other", undefined, "late"]);
  });

  it("is the response to its request, which it then hears only there", async () => {
    const peer = createFakePeer();
    const response = peer.request("m", { n: 1 });
    const [request] = (await read(peer.channel)) ?? [];
    expect(request).toMatchObject({ kind: "request", method: "m", params: { n: 1 } });
    if (request?.kind !== "request") throw new Error("no request");
    peer.channel.send(news);
    peer.channel.send({ kind: "success", id: request.id, result: { ok: true } });
    expect(await response).toMatchObject({ id: request.id, result: { ok: true } });
    expect(await peer.next()).toMatchObject({ method: "news" });
    expect(peer.heard).toHaveLength(2);
  });

  it("is nothing that is no JSON", () => {
    const peer = createFakePeer();
    const params = { n: 1n } as unknown as { n: number };
    expect(() => peer.channel.send({ ...news, params })).toThrow(TypeError);
    expect(peer.heard).toEqual([]);
  });

  it("is nothing more once the channel is closed, and who waits is told", async () => {
    const peer = createFakePeer();
    const waiting = [peer.expect("m"), peer.request("m")];
    const told = waiting.map((each) => expect(each).rejects.toThrow("the channel was closed"));
    await peer.channel.close();
    await peer.channel.close();
    peer.channel.send(news);
    await Promise.all(told);
    expect(peer.heard).toEqual([]);
    await expect(peer.next()).rejects.toThrow("the channel was closed");
    await expect(peer.request("m")).rejects.toThrow("the channel was closed");
    expect(await read(peer.channel)).toMatchObject([{ method: "m" }]);
    expect(await read(peer.channel)).toBeUndefined();
  });

  it("can be heard after it hung up", async () => {
    const peer = createFakePeer();
    peer.end();
    peer.channel.send(news);
    expect(await peer.next()).toMatchObject({ method: "news" });
  });
});
