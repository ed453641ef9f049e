import { StdioClientTransport as TransportV2 } from "@modelcontextprotocol/client/stdio";
import { StdioClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, it } from "vitest";
import type { Official } from "./support/official.ts";
import { openV1 } from "./support/official-v1.ts";
import { openV2 } from "./support/official-v2.ts";
import { script } from "./support/places.ts";

// The official clients drop progress that they read in one chunk with the response. Nothing tells a server what its client has
// read, so the gap of many calls at once is wide here: the default is enough unless the client gets no processor for 10 ms.

const program = (gapMs?: number) => ({
  ...script("test/fixtures/progress-server.mjs", ...(gapMs === undefined ? [] : [String(gapMs)])),
  stderr: "ignore" as const,
});

const clients = [
  { name: "version 1", open: (gapMs?: number) => openV1(new TransportV1(program(gapMs))) },
  { name: "version 2, legacy", open: (gapMs?: number) => openV2(new TransportV2(program(gapMs)), "legacy") },
  { name: "version 2, negotiated", open: (gapMs?: number) => openV2(new TransportV2(program(gapMs)), "auto") },
];

const all = [1, 2, 3].map((progress) => expect.objectContaining({ progress }));

/** Calls the tool many times at once, and gives the progress that each call has heard. */
async function countMany({ callTool }: Pick<Official, "callTool">, calls: number): Promise<readonly object[][]> {
  const heard = Array.from({ length: calls }, (): object[] => []);
  const call = (mine: object[]) =>
    callTool({ name: "count", arguments: {} }, { onprogress: (progress) => mine.push(progress) });
  await Promise.all(heard.map(call));
  return heard;
}

/** The same, one call after the other. */
async function countInTurn(session: Pick<Official, "callTool">, calls: number): Promise<readonly object[][]> {
  const heard: object[][] = [];
  for (let call = 0; call < calls; call++) heard.push(...(await countMany(session, 1)));
  return heard;
}

describe.each(clients)("the official client, $name", ({ open }) => {
  it("hears all progress of 50 calls that return right after it (I5)", async () => {
    const session = await open(1_000);
    const heard = await countMany(session, 50);
    await session.client.close();
    expect(heard).toEqual(Array.from({ length: 50 }, () => all));
  });

  it("hears all progress of ten calls in a row with the default gap (I5)", async () => {
    const session = await open();
    // Others may have the processor meanwhile, so a row that misses something is begun anew. Without a gap each one misses some.
    let heard: readonly object[][] = [];
    for (let row = 0; row < 30 && heard.flat().length < 30; row++) heard = await countInTurn(session, 10);
    await session.client.close();
    expect(heard).toEqual(Array.from({ length: 10 }, () => all));
  });
});
