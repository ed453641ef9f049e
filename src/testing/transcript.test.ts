import { describe, expect, it } from "vitest";
import type { Message } from "../jsonrpc/message.ts";
import { createFakePeer } from "./fake-peer.ts";
import { diffTranscripts, parseTranscript, recordChannel } from "./transcript.ts";

const ping: Message = { kind: "request", id: 1, method: "ping", params: {} };

describe("a recorded channel", () => {
  it("notes what goes in and what comes out, in order", async () => {
    const peer = createFakePeer();
    const channel = recordChannel(peer.channel);
    channel.send(ping);
    peer.reply({ id: 1 }, { b: 1, a: [null] });
    peer.end();
    for await (const _ of channel.incoming);
    expect(channel.lines).toEqual([
      { direction: ">", message: { jsonrpc: "2.0", id: 1, method: "ping", params: {} } },
      { direction: "<", message: { jsonrpc: "2.0", id: 1, result: { b: 1, a: [null] } } },
    ]);
    expect(channel.toText()).toBe(
      '> {"jsonrpc":"2.0","id":1,"method":"ping","params":{}}\n< {"jsonrpc":"2.0","id":1,"result":{"b":1,"a":[null]}}\n',
    );
  });

  it("hands on what it notes, as it came", async () => {
    const peer = createFakePeer();
    const channel = recordChannel(peer.channel);
    peer.say("rubbish", [{ jsonrpc: "2.0", method: "a" }, { jsonrpc: "2.0", method: "b" }, 3]);
    peer.end();
    const seen = [];
    for await (const together of channel.incoming) seen.push(...together);
    expect(seen).toMatchObject([{ kind: "malformed" }, { kind: "batch" }]);
    expect(channel.lines.map(({ message }) => message.method)).toEqual(["a", "b"]);
  });

  it("notes only what was sent", () => {
    const peer = createFakePeer();
    const channel = recordChannel({
      ...peer.channel,
      send() {
        throw new Error("broken");
      },
    });
    expect(() => channel.send(ping)).toThrow("broken");
    expect(() => channel.send({ ...ping, params: { n: 1n as unknown as number } })).toThrow(TypeError);
    expect(channel.lines).toEqual([]);
  });

  it("tells when the reader is slow, and closes what it records", async () => {
    const peer = createFakePeer();
    const slow = Promise.resolve();
    const channel = recordChannel({ ...peer.channel, send: () => slow });
    expect(channel.send(ping)).toBe(slow);
    await channel.close();
    await expect(peer.next()).rejects.toThrow("closed");
  });

  it("masks members by name, however deep", () => {
    const channel = recordChannel(createFakePeer().channel, { mask: ["token", "at"] });
    channel.send({ ...ping, params: { token: "secret", list: [{ at: { x: 1 }, keep: null }], tokens: 2 } });
    expect(channel.lines[0]?.message.params).toEqual({
      token: "<token>",
      list: [{ at: "<at>", keep: null }],
      tokens: 2,
    });
  });
});

describe("parseTranscript", () => {
  it("reads what toText wrote", () => {
    const channel = recordChannel(createFakePeer().channel);
    channel.send(ping);
    channel.send({ kind: "notification", method: "n", params: { text: "a\nb > c" } });
    expect(parseTranscript(channel.toText())).toEqual(channel.lines);
  });

  it("skips comments and blank lines", () => {
    expect(parseTranscript('# a comment\n\n  \n< {"a":1}\n')).toEqual([{ direction: "<", message: { a: 1 } }]);
  });

  it.each(["hello", '{"a":1}', "> [1]", "> {", "=> {}"])("refuses %j, and names it", (line) => {
    expect(() => parseTranscript(`> {}\n${line}\n`)).toThrow(`not a line: ${line}`);
  });
});

describe("diffTranscripts", () => {
  const lines = parseTranscript('> {"a":1}\n< {"b":2}\n');

  it("is none between equals", () => {
    expect(diffTranscripts(lines, parseTranscript('>{"a":1}\n<{"b":2}'))).toBeUndefined();
    expect(diffTranscripts([], [])).toBeUndefined();
  });

  it.each([
    ["another value", '> {"a":1}\n< {"b":3}\n', 1],
    ["another direction", '< {"a":1}\n< {"b":2}\n', 0],
    ["another order of members", '> {"a":1}\n< {"b":2}\n> {"c":1,"d":2}', 2],
  ])("finds %s", (_what, text, index) => {
    const expected = parseTranscript(text);
    const actual = index === 2 ? [...lines, ...parseTranscript('> {"d":2,"c":1}')] : lines;
    expect(diffTranscripts(actual, expected)).toEqual({ index, actual: actual[index], expected: expected[index] });
  });

  it("finds what is missing, and what is too much", () => {
    expect(diffTranscripts(lines.slice(0, 1), lines)).toEqual({ index: 1, actual: undefined, expected: lines[1] });
    expect(diffTranscripts(lines, lines.slice(0, 1))).toEqual({ index: 1, actual: lines[1], expected: undefined });
  });
});
