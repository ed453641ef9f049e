// What is outside of `src/legacy` and knows that there are revisions before 2026-07-28: each file, how many of its lines
// serve only those, and why they are where they are. `npm run stats` adds the lines up. `test/architecture.test.ts` lets
// no other file ask for the era of a revision, so that a new one has to be entered here, with its reason.
//
// Lines are counted by reading: from the comment of a declaration to its end. "all" is the whole file.

const records = "works on the records of tasks, which src/legacy does not know: it is above transport, beside server";
const followed = "follows a task in either way, by one state machine";
const asked = "an author can see the difference";
const found = "finds out which era is spoken, before anything of it is loaded";

/** @type {readonly import("./older-revisions.d.mts").OlderCode[]} */
export const outsideLegacy = [
  { file: "src/server/tasks/result.ts", lines: "all", why: `tasks/result ${records}` },
  { file: "src/server/tasks/task-methods.ts", lines: 37, why: `tasks/list ${records}` },
  { file: "src/server/server.ts", lines: 9, why: "declares tasks.list" },
  {
    file: "src/server/sessions.ts",
    lines: "all",
    why: "onConnect, onDisconnect and ctx.session run handlers of the author",
  },
  {
    file: "src/protocol/session.ts",
    lines: "all",
    why: "what a service is told of sessions: the interface between both",
  },
  { file: "src/server/ask.ts", lines: 1, why: asked },
  { file: "src/client/task-follower.ts", lines: 50, why: followed },
  { file: "src/client/task-handles.ts", lines: 45, why: followed },
  { file: "src/client/tool-calls.ts", lines: 12, why: "a tool that runs only as a task is told so" },
  { file: "src/client/requests.ts", lines: 1, why: followed },
  { file: "src/host/task-calls.ts", lines: 95, why: "a task of one era for a caller of the other" },
  { file: "src/host/change-feed.ts", lines: 1, why: followed },
  { file: "src/gateway/task-questions.ts", lines: "all", why: "questions of servers that ask while a task runs" },
  { file: "src/gateway/connection-pool.ts", lines: 22, why: "log levels of a session that callers share" },
  {
    file: "src/gateway/caller-connections.ts",
    lines: 8,
    why: "a server that asks in sessions has one for each caller",
  },
  { file: "src/gateway/accounts/account-gate.ts", lines: 1, why: asked },
  { file: "src/jsonrpc/message.ts", lines: 15, why: "batches are JSON-RPC: a parser has to know them to refuse them" },
  { file: "src/jsonrpc/peer.ts", lines: 30, why: "batches" },
  { file: "src/protocol/observe.ts", lines: 8, why: "sessions have a span and a figure of their own" },
  {
    file: "src/transport/http/client/open-http.ts",
    lines: 70,
    why: "opens what was found out: a session, or HTTP+SSE",
  },
  { file: "src/transport/http/endpoint.ts", lines: 4, why: found },
  { file: "src/transport/negotiate.ts", lines: 12, why: found },
  { file: "src/transport/node/spawn-channel.ts", lines: 1, why: found },
  { file: "src/connect/create-connect.ts", lines: 1, why: found },
  { file: "src/connect/in-process.ts", lines: 3, why: found },
  { file: "src/cli/warm/kept-connections.ts", lines: 1, why: "a session is kept for each caller" },
];
