import { setTimeout as pause } from "node:timers/promises";
import { describe, isRefused } from "../messages.mjs";
import { call } from "../peers.mjs";
import { gotThrough, held, judge, quoted } from "../verdicts.mjs";
import { wideJson } from "./memory.mjs";

// Bytes on the stdin of a server, and a reader of its stdout that does not read. Each has a process of its own.

const MIB = 1024 * 1024;
const EXIT_MS = 15_000;

export const stdioAttacks = [
  {
    id: "stdio-no-newline",
    covers: ["V23"],
    title: "writes 64 MB without a line break",
    async run({ child, peer }) {
      const chunk = Buffer.alloc(MIB, "x");
      for (let n = 0; n < 64; n++) await child.write(chunk);
      await child.write("\n");
      return lives(peer, "64 MB without a line break");
    },
  },
  {
    id: "stdio-long-line",
    covers: ["V23"],
    title: "writes a request of 20 MB on one line",
    async run({ peer }) {
      const id = peer.nextId();
      const text = JSON.stringify(peer.encode("tools/list", { cursor: "x".repeat(20 * MIB) }, id));
      const answer = await peer.exchange(text, { id, timeoutMs: 10_000 });
      if (answer.kind === "result") return gotThrough("it was answered with a result");
      return lives(peer, `a line of 20 MB got ${describe(answer)}`);
    },
  },
  {
    id: "stdio-deep-json",
    covers: ["V23", "H2"],
    title: "writes JSON that is nested 1,000,000 levels deep",
    async run({ peer }) {
      const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${"[".repeat(MIB)}${"]".repeat(MIB)}}`;
      const answer = await peer.exchange(deep, { id: 1, timeoutMs: 10_000 });
      if (!isRefused(answer)) return gotThrough(describe(answer));
      return lives(peer, `it got ${describe(answer)}`);
    },
  },
  {
    id: "stdio-wide-json",
    covers: ["S3", "V23"],
    title: "writes 24 lines of 4 MB of small objects",
    async run({ peer, uses }) {
      const { name, args } = uses.slow ?? uses.echo ?? { name: "none", args: {} };
      const wide = wideJson(4 * MIB);
      const answers = await Promise.all(
        Array.from({ length: 24 }, () => {
          const id = peer.nextId();
          const text = JSON.stringify(peer.encode("tools/call", { name, arguments: { ...args, wide: "WIDE" } }, id));
          return peer.exchange(text.replace('"WIDE"', wide), { id, timeoutMs: 30_000 });
        }),
      );
      const done = answers.filter(({ kind }) => kind === "result").length;
      return lives(peer, `${done} of 24 were done`);
    },
  },
  {
    id: "stdio-unread",
    covers: ["S2", "V23"],
    title: "sends 400 calls and does not read the answers",
    async run({ child, peer, uses }) {
      const { large } = uses;
      child.pauseReading();
      const params = large ? { name: large.name, arguments: large.args } : {};
      const calls = Array.from({ length: 400 }, () => {
        return JSON.stringify(peer.encode(large ? "tools/call" : "tools/list", params, peer.nextId()));
      });
      void child.write(`${calls.join("\n")}\n`);
      await pause(5_000);
      child.resumeReading();
      return lives(peer, "400 answers were left unread for 5 s", 30_000);
    },
  },
  {
    id: "stdio-flood",
    covers: ["V23", "V25"],
    title: "writes 50,000 requests, 50,000 notifications and 50,000 responses at once",
    async run({ child, peer }) {
      const lines = Array.from({ length: 50_000 }, (_, n) => {
        const told = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: n } };
        const said = { jsonrpc: "2.0", id: `none-${n}`, result: {} };
        const asked = peer.encode(peer.isModern ? "tools/list" : "ping", {}, peer.nextId());
        return [asked, told, said].map((message) => JSON.stringify(message)).join("\n");
      });
      await child.write(`${lines.join("\n")}\n`);
      return lives(peer, "150,000 messages were taken", 60_000);
    },
  },
  {
    id: "stdio-batch",
    covers: ["H8"],
    title: "writes a batch of 50,000 requests on one line",
    async run({ child, peer }) {
      const batch = Array.from({ length: 50_000 }, () =>
        peer.encode(peer.isModern ? "tools/list" : "ping", {}, peer.nextId()),
      );
      const from = child.messages.length;
      await peer.exchange(JSON.stringify(batch), { id: "none", timeoutMs: 5_000 });
      await pause(1_000);
      const done = child.messages.slice(from).filter((message) => "result" in message).length;
      return done > 10_000 ? gotThrough(`${done} of 50,000 were done`) : lives(peer, `${done} of 50,000 were done`);
    },
  },
  {
    id: "stdio-garbage",
    covers: ["V41"],
    title: "writes lines that are no messages",
    async run({ peer }) {
      const lines = [
        Buffer.from([0xff, 0xfe, 0x00, 0x0a]),
        Buffer.alloc(70_000),
        Buffer.from("\r\n\r\n\r\n"),
        Buffer.from("Content-Length: 20\r\n\r\n{}"),
        Buffer.from("\u2028\u2029\ufeff{}"),
        Buffer.from("GET / HTTP/1.1"),
      ];
      for (const line of lines) await peer.exchange(line, { id: "none", timeoutMs: 300 });
      return lives(peer, `${lines.length} kinds of garbage were written`);
    },
  },
  {
    id: "stdio-slow-line",
    covers: ["V24"],
    title: "writes a request one byte at a time",
    async run({ child, peer }) {
      const id = peer.nextId();
      for (const char of JSON.stringify(peer.encode("tools/list", {}, id))) await child.write(char);
      const answer = await peer.exchange("", { id });
      return answer.kind === "result" ? held("it was answered") : gotThrough(`it got ${describe(answer)}`);
    },
  },
  {
    id: "stdio-half-line",
    covers: ["V32"],
    title: "ends the input in the middle of a message",
    async run({ child, peer }) {
      await child.write(JSON.stringify(peer.encode("tools/list", {}, 1)).slice(0, 20));
      child.end();
      const exit = await child.ended(EXIT_MS);
      if (exit === undefined)
        return gotThrough(`the process still ran ${EXIT_MS / 1_000} s after the end of its input`);
      return exit.code === 0
        ? held("the process ended with code 0")
        : gotThrough(`the process ended with ${exit.signal ?? `code ${exit.code}`}`);
    },
  },
  {
    id: "stdio-end",
    covers: ["V32"],
    title: "ends the input while a call runs",
    async run({ child, peer, uses }) {
      const use = uses.slow ?? uses.echo;
      const params = use ? { name: use.name, arguments: use.args } : {};
      await child.write(`${JSON.stringify(peer.encode(use ? "tools/call" : "tools/list", params, 1))}\n`);
      child.end();
      const exit = await child.ended(EXIT_MS);
      if (exit === undefined)
        return gotThrough(`the process still ran ${EXIT_MS / 1_000} s after the end of its input`);
      return exit.code === 0
        ? held("the process ended with code 0")
        : gotThrough(`the process ended with ${exit.signal ?? `code ${exit.code}`}`);
    },
  },
  {
    id: "stdio-stdout",
    covers: ["V41"],
    title: "looks for lines on stdout that are no messages",
    async run({ child, peer, uses }) {
      await call(peer, "tools/list", {});
      for (const { name, args } of [uses.echo, uses.slow].filter(Boolean)) {
        await call(peer, "tools/call", { name, arguments: args });
      }
      const [stray] = child.strayLines;
      return judge(
        stray === undefined ? [] : [`stdout has ${quoted(stray)}`],
        `${child.messages.length} lines, all messages`,
      );
    },
  },
];

/** Whether the server still answers. */
async function lives(peer, evidence, timeoutMs = 15_000) {
  const answer = await call(peer, "tools/list", {}, { timeoutMs });
  return answer.kind === "result"
    ? held(`${evidence}, and the next request was answered`)
    : gotThrough(`${evidence}, and the next request got ${describe(answer)}`);
}
