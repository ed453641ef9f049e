import { PassThrough, Readable, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { Incoming, Message } from "../../jsonrpc/message.ts";
import { stdioLimits } from "../../protocol/limits.ts";
import { lineChannel } from "./line-channel.ts";

describe("lineChannel, reading", () => {
  it("yields together what arrived together, and ends with the stream", async () => {
    const { readable, incoming } = open();
    readable.write(`${line(1)}${line(2)}`);
    readable.end(line(3));
    expect(await collect(incoming)).toEqual([[ping(1), ping(2)], [ping(3)]]);
  });

  it("keeps what arrives before anybody reads", async () => {
    const { readable, incoming } = open();
    readable.end(line(1));
    await turns(3);
    expect(await collect(incoming)).toEqual([[ping(1)]]);
  });

  it("lets a second reader go on where the first stopped", async () => {
    const { readable, incoming } = open();
    readable.write(line(1));
    for await (const batch of incoming) {
      expect(batch).toEqual([ping(1)]);
      break;
    }
    readable.end(line(2));
    expect(await collect(incoming)).toEqual([[ping(2)]]);
  });

  it("C89: lives on behind lines that are no messages", async () => {
    const { readable, incoming } = open({ limits: { ...stdioLimits, maxMessageBytes: 64 } });
    readable.write(`garbage\n\r\n${"x".repeat(65)}\n`);
    readable.write(Buffer.from([0xff, 0xfe, 10]));
    readable.end(line(1));
    expect((await collect(incoming)).flat()).toEqual([
      malformed("parse error: not valid JSON"),
      malformed("parse error: line longer than 64 bytes (maxMessageBytes)"),
      malformed("parse error: not valid UTF-8"),
      ping(1),
    ]);
  });

  it("drops a last line that was not finished", async () => {
    const { readable, incoming } = open();
    readable.end(`${line(1)}{"jsonrpc":"2.0","id":2,`);
    expect((await collect(incoming)).flat()).toEqual([ping(1)]);
  });

  it("reads a stream that gives strings", async () => {
    const { readable, incoming } = open();
    readable.setEncoding("utf8");
    readable.end(line(1));
    expect((await collect(incoming)).flat()).toEqual([ping(1)]);
  });

  it("loses nothing where somebody else resumes the stream, as Node does for a program that has ended", async () => {
    const { readable, incoming } = open();
    const ids = Array.from({ length: 200 }, (_, id) => id);
    for (let from = 0; from < ids.length; from += 50) {
      readable.emit(
        "data",
        Buffer.from(
          ids
            .slice(from, from + 50)
            .map(line)
            .join(""),
        ),
      );
    }
    readable.end();
    expect((await collect(incoming)).flat()).toEqual(ids.map(ping));
  });

  it("makes a fast peer wait for a slow reader", async () => {
    let produced = 0;
    const readable = new Readable({
      read() {
        this.push(line(++produced));
      },
    });
    const { incoming } = lineChannel(readable, new PassThrough());
    await turns(20);
    const unread = produced;
    expect(unread).toBeLessThan(5000);
    await turns(20);
    expect(produced).toBe(unread);

    let read = 0;
    for await (const batch of incoming) {
      read += batch.length;
      if (read > 2 * unread) break;
    }
    expect(produced).toBeLessThan(read + unread + 10);
  });

  it("hands over what came at once in several turns, so that answers to the first can hold up the rest (S2)", async () => {
    const { readable, incoming } = open();
    const sizes: number[] = [];
    const read = async (): Promise<void> => {
      for await (const batch of incoming) sizes.push(batch.length);
    };
    const reading = read();
    readable.write(ids(1, 40).map(line).join(""));
    await Promise.resolve();
    expect(sizes.length).toBeLessThanOrEqual(1);
    await turns(5);
    expect(sizes).toEqual([16, 16, 8]);
    readable.end(line(41));
    await reading;
    expect(sizes).toEqual([16, 16, 8, 1]);
  });

  it("hands over all that came when the stream breaks meanwhile", async () => {
    const { readable, incoming } = open();
    const reading = collect(incoming);
    readable.write(ids(1, 40).map(line).join(""));
    await Promise.resolve();
    readable.destroy();
    expect((await reading).flat()).toEqual(ids(1, 40).map(ping));
  });

  it("ends when the stream is destroyed or its peer hangs up", async () => {
    for (const error of [undefined, Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })]) {
      const { readable, incoming } = open();
      readable.write(line(1));
      await turns(1);
      readable.destroy(error);
      expect((await collect(incoming)).flat()).toEqual([ping(1)]);
    }
  });

  it("throws when reading fails", async () => {
    const { readable, incoming } = open();
    readable.destroy(new Error("disk on fire"));
    await expect(collect(incoming)).rejects.toMatchObject({
      code: "connection-closed",
      message: "cannot read: disk on fire",
    });
  });

  it("drops what arrives after its input was ended, and can still send", async () => {
    const { readable, writable, channel } = open();
    readable.write(line(1));
    await turns(1);
    channel.endInput();
    readable.write(line(2));
    expect((await collect(channel.incoming)).flat()).toEqual([ping(1)]);
    channel.send(ping(3));
    await channel.close();
    expect(textOf(writable)).toBe(line(3));
    expect(readable.destroyed).toBe(true);
  });
});

describe("lineChannel, writing", () => {
  it("joins what is sent in one tick into one write, in order", async () => {
    const writes: string[] = [];
    const channel = lineChannel(
      new PassThrough(),
      sink((text) => writes.push(text)),
    );
    channel.send(ping(1));
    channel.send(ping(2));
    await Promise.resolve().then(() => Promise.all([3, 4].map(async (id) => channel.send(ping(id)))));
    await turns(1);
    channel.send(ping(5));
    await channel.close();
    expect(writes.join("")).toBe([1, 2, 3, 4, 5].map(line).join(""));
    expect(writes.length).toBeLessThanOrEqual(3);
  });

  it("writes some of many while others are still made, so that the peer need not wait for the last", async () => {
    const chunks: string[] = [];
    const writable = new Writable({
      write(chunk, _, done) {
        chunks.push(String(chunk));
        done();
      },
    });
    const { send } = lineChannel(new PassThrough(), writable);
    for (let id = 1; id <= 40; id++) send(ping(id) as Message);
    expect(chunks.map((chunk) => chunk.split("\n").length - 1)).toEqual([16, 16]);
    await turns(1);
    expect(chunks.map((chunk) => chunk.split("\n").length - 1)).toEqual([16, 16, 8]);
    expect(chunks.join("")).toBe(Array.from({ length: 40 }, (_, index) => line(index + 1)).join(""));
  });

  it("C87: writes one line for each message, whatever is in it", async () => {
    const { writable, channel } = open();
    channel.send({ kind: "notification", method: "a\nb", params: { text: "\r\n\u2028", lone: "\ud800" } });
    await channel.close();
    expect(textOf(writable)).toMatch(/^[^\r\n]+\n$/);
  });

  it("says when the peer is slow, with one listener however many wait", async () => {
    const { writable, channel } = open();
    const listeners = writable.listenerCount("drain");
    const sent = Array.from({ length: 50 }, () => channel.send(big));
    expect(sent.every((promise) => promise instanceof Promise)).toBe(true);
    expect(writable.listenerCount("drain")).toBe(listeners);

    writable.resume();
    await Promise.all(sent);
    expect(channel.send(ping(1))).toBeUndefined();
  });

  it.each(["destroyed", "broken"])("lets nobody wait for a peer that is gone: %s", async (how) => {
    const { writable, channel } = open();
    const waiting = channel.send(big);
    expect(waiting).toBeInstanceOf(Promise);
    writable.destroy(how === "broken" ? Object.assign(new Error("write EPIPE"), { code: "EPIPE" }) : undefined);
    await waiting;
    expect(channel.send(big)).toBeUndefined();
    await channel.close();
  });

  it("survives a write that fails", async () => {
    const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error("write EPIPE")) });
    const channel = lineChannel(new PassThrough(), broken);
    channel.send(ping(1));
    await turns(1);
    expect(channel.send(ping(2))).toBeUndefined();
    await channel.close();
  });

  it("closes once, after everything is written", async () => {
    const { writable, channel } = open();
    for (let id = 0; id < 20; id++) channel.send(big);
    const closed = Promise.all([channel.close(), channel.close()]);
    expect(channel.send(big)).toBeUndefined();
    let bytes = 0;
    writable.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await closed;
    await channel.close();
    expect(bytes).toBeGreaterThan(20 * 100_000);
    expect(bytes).toBeLessThan(20 * 101_000);
  });
});

const big: Message = { kind: "notification", method: "big", params: { text: "x".repeat(100_000) } };

function open(options?: Parameters<typeof lineChannel>[2]) {
  const readable = new PassThrough();
  const writable = new PassThrough();
  const channel = lineChannel(readable, writable, options);
  return { readable, writable, channel, incoming: channel.incoming };
}

function sink(write: (text: string) => void): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      write(String(chunk));
      done();
    },
  });
}

function ids(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n);
}

function ping(id: number): Message {
  return { kind: "request", id, method: "ping", params: {} };
}

function line(id: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"ping","params":{}}\n`;
}

function malformed(message: string): Incoming {
  return { kind: "malformed", id: null, error: { code: -32700, message }, answerable: true };
}

function textOf(stream: PassThrough): string {
  return String(stream.read() ?? "");
}

async function collect(incoming: AsyncIterable<readonly Incoming[]>): Promise<readonly (readonly Incoming[])[]> {
  const batches: (readonly Incoming[])[] = [];
  for await (const batch of incoming) batches.push(batch);
  return batches;
}

/** Lets the event loop go round. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
