import { describe, expect, it } from "vitest";
import { LazyAbort } from "../../std/lazy-abort.ts";
import type { ClientInfo } from "../peer.ts";
import { type CallSource, createCall } from "../service.ts";
import { modernClient, modernClientOf } from "./client-codec.ts";

const peer: ClientInfo = { revision: "2026-07-28", capabilities: { roots: {} }, info: { name: "c", version: "1" } };

function call(more: Partial<CallSource<"tools/call">> = {}) {
  const params = { name: "add", arguments: { a: 1 } };
  return createCall({ method: "tools/call", params, peer, abort: new LazyAbort(), notify: () => undefined, ...more });
}

describe("modernClientOf", () => {
  it.each([
    ["a plain call", call(), undefined],
    ["a call that wants log messages", call({ logLevel: "warning" }), undefined],
    ["a call that wants progress", call(), 7],
    ["a call with something of its own", call({ meta: { "my/key": 1 } }), undefined],
    ["a call of another peer", call({ peer: { revision: "2026-07-28", capabilities: {} } }), undefined],
    ["a call with answers", call({ answers: { q: { action: "accept" } }, state: "s" }), undefined],
  ])("says of %s what the codec of any connection says, again and again", (_, given, progressToken) => {
    const codec = modernClientOf(peer);
    for (let round = 0; round < 3; round++) {
      expect(codec.encodeCall(given, progressToken)).toEqual(modernClient.encodeCall(given, progressToken));
      expect(codec.encodeCall(call())).toEqual(modernClient.encodeCall(call()));
    }
  });

  it("makes the `_meta` of plain calls once for each log level in a row", () => {
    const codec = modernClientOf(peer);
    const metaOf = (given = call()) => codec.encodeCall(given)._meta;
    const quiet = metaOf();
    expect(metaOf()).toBe(quiet);
    const loud = metaOf(call({ logLevel: "debug" }));
    expect(metaOf(call({ logLevel: "debug" }))).toBe(loud);
    expect(metaOf()).toEqual(quiet);
  });
});
