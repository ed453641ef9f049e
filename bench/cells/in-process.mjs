import { startPeer } from "../lib/children.mjs";
import { cpuAndRate } from "../lib/measures.mjs";

/** fastmcp has nothing to be called with in process. */
const peers = ["bare", "plugbay", "v2", "v1", "tmcp", "mcp-lite", "function"];

export const inProcessCells = [1, 64].map((inFlight) => ({
  name: `in-process/${inFlight}`,
  title: `in process, input validated, ${inFlight} in flight`,
  group: "in process",
  peers,
  quick: ["bare", "plugbay"],
  measures: cpuAndRate("process"),
  open: (peer) => openPumped({ peer, role: "inProcess", inFlight }),
}));

/** A process that makes calls by itself, and tells how many. */
export async function openPumped({ peer, role, inFlight, options = {} }) {
  const child = await startPeer(peer, role, options);
  return { cpu: child.cpu, sample: (ms) => child.ask("pump", inFlight, ms), close: child.close };
}
