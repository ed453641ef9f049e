// What the figures have to be. `atLeast`: so many times as many calls in a second as the other;
// `atMost`: so many times the cost of the other, in processor time unless it says otherwise.

const atLeast = (cell, against, value, key = "rate") => ({ cell, key, against, atLeast: value });
const atMost = (cell, against, value, key = "cpu") => ({ cell, key, against, atMost: value });

const gateway = (limit) => ({ ...limit, peer: "plugbay gateway" });
const rivals = ["mcp-proxy", "supergateway"];

export const targets = [
  ...["json", "sse"].map((answer) => ({
    title: `HTTP server, 2026-07-28, ${answer.toUpperCase()}, 64 connections`,
    limits: [atLeast(`http/modern/${answer}/64`, "bare", 0.75), atLeast(`http/modern/${answer}/64`, "v2", 10)],
  })),
  ...["json", "sse"].map((answer) => ({
    title: `HTTP server, sessions, ${answer.toUpperCase()}, 64 connections`,
    limits: [
      atLeast(`http/session/${answer}/64`, "bare", 0.75),
      atLeast(`http/session/${answer}/64`, "v2", 8),
      atLeast(`http/session/${answer}/64`, "mcp-lite", 2),
    ],
  })),
  {
    title: "stdio server, 64 in flight",
    limits: [atLeast("stdio/64", "bare", 0.75), atLeast("stdio/64", "tmcp", 2.5), atLeast("stdio/64", "v2", 7)],
  },
  ...[1, 64].map((inFlight) => ({
    title: `in process, validated input, ${inFlight} in flight`,
    limits: [atLeast(`in-process/${inFlight}`, "tmcp", 4), atLeast(`in-process/${inFlight}`, "v2", 20)],
  })),
  {
    title: "HTTP client, 64 in flight",
    limits: [atLeast("client/http/64", "bare", 0.75), atLeast("client/http/64", "v2", 6)],
  },
  {
    title: "stdio client, 64 in flight",
    limits: [atLeast("client/stdio/64", "bare", 0.7), atLeast("client/stdio/64", "v2", 3.5)],
  },
  { title: "results of 10 MB over stdio", limits: [atLeast("stdio/result-10mb", "bare", 0.8)] },
  {
    title: "5,000 idle sessions with open streams",
    limits: [atMost("sessions/5000", "v2", 1 / 3, "streaming"), atMost("sessions/5000", "bare", 1.3, "broadcast")],
  },
  {
    title: "tools/list of 1,000 tools over HTTP",
    limits: [atMost("many-tools/list", "bare", 1.3), atLeast("many-tools/list", "v2", 15, "cpu")],
  },
  { title: "one line of 8 MB in pieces of 1 KB", limits: [atMost("stdio/pieces", "bare", 1.5)] },
  {
    title: "start of a stdio server, and import",
    limits: [atMost("start/stdio", "v2", 1 / 2, "answer"), atMost("start/import", "v2", 1 / 2)],
  },
  {
    title: "gateway with authentication, rules, audit and metrics, in front of a stdio server, 16 connections",
    limits: [
      gateway(atLeast("gateway/stdio/16", "plugbay host", 0.8, "rate")),
      ...rivals.map((rival) => gateway(atLeast("gateway/stdio/16", rival, 5, "rate"))),
    ],
  },
  {
    title: "the same, one connection",
    limits: rivals.map((rival) => gateway({ ...atMost("gateway/stdio/1", rival, 0.5, "rate"), direct: "direct" })),
  },
  {
    title: "gateway in front of an HTTP server, 16 connections",
    limits: [gateway(atLeast("gateway/http/16", "plugbay host", 0.8, "rate"))],
  },
  {
    title: "two processes of a gateway, against one: processor time for a call",
    limits: [{ ...atMost("gateway/workers", "1 worker", 1.1), peer: "2 workers" }],
  },
  {
    title: "a call with 1,000 tools, against one with 1 tool",
    limits: [{ ...atMost("many-tools/call", "plugbay, 1 tool", 1.1), peer: "plugbay, 1,000 tools" }],
  },
];
