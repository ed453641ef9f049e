import { startPeer } from "../lib/children.mjs";
import { cpuAndRate } from "../lib/measures.mjs";
import { openStdioLoad } from "../lib/stdio-load.mjs";

/** mcp-lite has no stdio. */
const peers = ["bare", "plugbay", "v2", "v1", "tmcp", "fastmcp"];
const MB = 1_000_000;

const loads = [
  ["1", "1 call in flight", (load, ms) => load.run({ ms, inFlight: 1 }), []],
  ["64", "64 calls in flight", (load, ms) => load.run({ ms, inFlight: 64 }), ["bare", "plugbay"]],
  ["result-1mb", "results of 1 MB", (load, ms) => load.fetchBlobs({ size: MB, ms }), []],
  ["result-10mb", "results of 10 MB", (load, ms) => load.fetchBlobs({ size: 10 * MB, ms }), ["bare", "plugbay"]],
];

const pieces = {
  group: "stdio server",
  measures: cpuAndRate("server"),
  open: (peer) => openStdio({ peer, run: (load) => load.sendLong({ size: 8 * MB }), piece: 1024 }),
};

export const stdioCells = [
  ...loads.map(([name, words, run, quick]) => ({
    name: `stdio/${name}`,
    title: `stdio server, ${words}`,
    group: "stdio server",
    peers,
    quick,
    measures: cpuAndRate("server"),
    open: (peer) => openStdio({ peer, run }),
  })),
  {
    ...pieces,
    name: "stdio/pieces",
    times: 3,
    title: "stdio server, one line of 8 MB that arrives in pieces of 1 KB",
    peers: ["bare", "plugbay"],
    quick: ["bare", "plugbay"],
  },
  {
    ...pieces,
    name: "stdio/pieces-once",
    title: "the same of all peers, once and cold: some need very long",
    peers,
    quick: [],
    length: { rounds: 1, ms: 0, warmCalls: 0, warmMs: 0, repeat: 0 },
  },
];

/** A server on its pipes, under load. */
export async function openStdio({ peer, run, ...options }) {
  const child = await startPeer(peer, "stdio", options);
  const load = await openStdioLoad(child);
  return { cpu: child.cpu, sample: (ms) => run(load, ms), close: child.close };
}
