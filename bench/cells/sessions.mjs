import { setTimeout as pause } from "node:timers/promises";
import { startPeer } from "../lib/children.mjs";
import { cost } from "../lib/measures.mjs";

/** fastmcp polls for what its clients can do: 5,000 sessions would take it minutes. */
const able = {
  1000: ["bare", "plugbay", "v2", "v1", "mcp-lite", "tmcp", "fastmcp"],
  5000: ["bare", "plugbay", "v2", "v1", "mcp-lite", "tmcp"],
};

export const sessionCells = Object.entries(able).map(([count, peers]) => ({
  name: `sessions/${count}`,
  times: 3,
  title: `${count} idle sessions`,
  group: "sessions",
  peers,
  quick: count === "1000" ? ["bare", "plugbay", "v2"] : [],
  measures: [
    cost("idle", "heap per session, KB"),
    cost("streaming", "heap per session with an open stream, KB"),
    cost("broadcast", "one change told to all, ms"),
    cost("cpu", "server CPU of that, ms"),
  ],
  run: (options) => measureSessions({ ...options, count: Number(count) }),
}));

/** Heaps are measured one after the other; changes are told in rounds while all are alive. */
async function measureSessions({ peers, count, length, report }) {
  const held = [];
  const samples = {};
  try {
    for (const peer of peers) {
      report(`opening ${count} sessions of ${peer}`);
      const { sizes, ...subject } = await hold(peer, count);
      held.push(subject);
      samples[peer] = Array.from({ length: length.rounds }, () => ({ ...sizes }));
    }
    for (const { tell } of held) await tell();
    for (let round = 0; round < length.rounds; round++) {
      report(`round ${round + 1} of ${length.rounds}`);
      for (const { peer, tell } of round % 2 === 0 ? held : held.toReversed()) {
        Object.assign(samples[peer][round], await tell());
      }
    }
  } finally {
    await Promise.all(held.map(({ close }) => close()));
  }
  return samples;
}

/** A server with so many sessions, each with an open stream. */
async function hold(peer, count) {
  const server = await startPeer(peer, "http", { mode: "session", answer: "sse" });
  const holder = await startPeer("holder", "sessions", { port: server.facts.port });
  const close = () => Promise.all([server.close(), holder.close()]);
  try {
    const few = 64;
    await holder.ask("open", few);
    const start = await settledHeap(server);
    await holder.ask("open", count + few);
    const idle = (await settledHeap(server)) - start;
    const streams = await holder.ask("stream");
    if (streams !== count + few) throw new Error(`${peer}: ${streams} streams`);
    const streaming = (await settledHeap(server)) - start;
    // The first few have streams as well by now, which their share of the rest stands for.
    const sizes = {
      idle: idle / count / 1024,
      streaming: (idle / count + (streaming - idle) / (count + few)) / 1024,
    };
    return { peer, sizes, tell: () => tell(server, holder), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function settledHeap(server) {
  await pause(300);
  return (await server.heap()).heapUsed;
}

/** How long it takes until every stream has heard of one change. */
async function tell(server, holder) {
  await holder.ask("expect");
  const before = await server.cpu();
  const start = performance.timeOrigin + performance.now();
  const heard = holder.ask("heard");
  await server.ask("broadcast");
  const broadcast = (await heard) - start;
  await pause(50);
  return { broadcast, cpu: ((await server.cpu()) - before) / 1000 };
}
