import { cpuAndRate } from "../lib/measures.mjs";
import { listTools } from "../lib/messages.mjs";
import { openHttp } from "./http.mjs";

const group = "1,000 tools";

/** Whether a list is whole: its last tool is in it. */
const isList = (text, id) => text.includes('"name":"tool_996"') && text.includes(`"id":${id}`);

/** Peers with one tool and with a thousand are measured against each other. */
const counts = { 1: "1 tool", 1000: "1,000 tools" };
const both = (peers) => peers.flatMap((peer) => Object.values(counts).map((words) => `${peer}, ${words}`));

export const manyToolsCells = [
  {
    name: "many-tools/list",
    title: "tools/list of 1,000 tools over HTTP with sessions",
    group,
    peers: ["bare", "plugbay", "v2", "v1", "mcp-lite", "tmcp", "fastmcp"],
    quick: ["bare", "plugbay"],
    measures: cpuAndRate("server"),
    open: (peer) =>
      openHttp({
        peer,
        mode: "session",
        answer: peer === "tmcp" ? "sse" : "json",
        connections: 1,
        tools: 1000,
        method: "tools/list",
        body: listTools,
        check: isList,
      }),
  },
  {
    name: "many-tools/call",
    times: 3,
    title: "tools/call over HTTP, 2026-07-28, JSON, 16 connections, with 1 and with 1,000 tools",
    group,
    peers: both(["plugbay", "v2"]),
    quick: both(["plugbay"]),
    against: ["plugbay, 1 tool", "v2, 1 tool"],
    measures: cpuAndRate("server"),
    open(name) {
      const [peer, words] = name.split(", ");
      const tools = words === counts[1] ? 1 : 1000;
      return openHttp({ peer, mode: "modern", answer: "json", connections: 16, tools });
    },
  },
];
