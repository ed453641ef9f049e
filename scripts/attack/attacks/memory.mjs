import { setTimeout as pause } from "node:timers/promises";
import { push, until, upTo } from "../bounded.mjs";
import { initializeRequest, modernHeaders, modernRequest, notification, outcomeOf, request } from "../messages.mjs";
import { gotThrough, held, notApplicable } from "../verdicts.mjs";

// What one client can make a server hold. Each of these is bounded in bytes and time; what it costs the server, and
// whether the second principal is still served, is measured by who runs them.

const MIB = 1024 * 1024;
/** A little less than most servers take. */
const BODY = 4 * MIB - 1024;
const CHUNK = 64 * 1024;
/** Calls whose answers are not read. */
const UNREAD = 400;
/** Between large messages, so that what is measured is what is kept of them, and not what is read at once. */
const CALM_MS = 100;
/** How long what was sent is left with the server. */
const HOLD_MS = 3_000;

export const memoryAttacks = [
  {
    id: "unread-answers",
    judgedBy: "memory",
    covers: ["S2", "B14"],
    title: "pipelines calls on one connection and never reads the answers",
    run: (ctx) => leaveUnread(ctx, {}),
  },
  {
    id: "unread-streams",
    judgedBy: "memory",
    covers: ["S2"],
    title: "pipelines calls with progress and never reads the streams",
    run: (ctx) => leaveUnread(ctx, { _meta: { progressToken: "unread" } }),
  },
  {
    id: "half-sent-bodies",
    judgedBy: "memory",
    covers: ["H1"],
    title: "sends 100 bodies of 4 MiB but for their last bytes, and waits",
    run: ({ first }) => leaveHalf(first, { "content-length": BODY }, Buffer.alloc(CHUNK, " ")),
  },
  {
    id: "half-chunked-bodies",
    judgedBy: "memory",
    covers: ["H1"],
    title: "sends 100 bodies of 4 MiB in chunks but for the last one, and waits",
    run: ({ first }) => leaveHalf(first, { "transfer-encoding": "chunked" }, chunkFrame()),
  },
  {
    id: "wide-json",
    judgedBy: "memory",
    covers: ["S3", "V23"],
    title: "sends 24 bodies of 4 MB of small objects",
    async run({ first, uses, target }) {
      const { name, args } = uses.slow ?? uses.echo ?? { name: "none", args: {} };
      const wide = wideJson(BODY - 4_096);
      const statuses = await Promise.all(
        Array.from({ length: 24 }, async (_, n) => {
          const params = { name, arguments: { ...args, wide: "WIDE" } };
          const text = JSON.stringify(
            target.isModern ? modernRequest("tools/call", params, n) : request("tools/call", params, n),
          );
          const headers = target.isModern ? modernHeaders("tools/call", name) : {};
          const sent = { headers, body: text.replace('"WIDE"', wide), timeoutMs: 30_000 };
          const { kind, status } = outcomeOf(await first.wire.request(sent), n);
          return kind === "result" ? "a result" : status || kind;
        }),
      );
      return held(`24 bodies of 4 MB were answered with ${countOf(statuses)}`);
    },
  },
  {
    id: "oversize-body",
    covers: ["V23"],
    title: "sends a body of 64 MiB, with its length announced and in chunks",
    async run({ first }) {
      const announced = await first.wire.socket();
      announced.socket.write(
        first.wire.head({ headers: { ...modernHeaders("tools/list"), "content-length": 64 * MIB } }),
      );
      const chunk = Buffer.alloc(CHUNK, " ");
      const takenWhole = await push(announced.socket, chunk, 1_024);
      const chunked = await first.wire.socket();
      chunked.socket.write(
        first.wire.head({ headers: { ...modernHeaders("tools/list"), "transfer-encoding": "chunked" } }),
      );
      const takenChunked = await push(chunked.socket, chunkFrame(), 1_024);
      const answered = await until(() => isOver(announced) && isOver(chunked), 5_000);
      const codes = [announced, chunked].map(({ text }) => /^HTTP\/1\.\d (\d+)/.exec(text)?.[1] ?? "closed");
      for (const { socket } of [announced, chunked]) socket.destroy();
      const evidence = `announced: ${codes[0]}, ${toMib(takenWhole)} MiB read; in chunks: ${codes[1]}, ${toMib(takenChunked)} MiB read`;
      if (!answered) return gotThrough(`no answer; ${evidence}`);
      return codes.includes("200") ? gotThrough(evidence) : held(evidence);
    },
  },
  {
    id: "many-sessions",
    covers: ["S9", "V25"],
    title: "opens 10,500 sessions as one principal",
    needs: ["sessions"],
    async run({ first, second }) {
      const ids = [];
      let refused = 0;
      const open = async () => {
        const answer = await first.wire.request({ body: JSON.stringify(initializeRequest()), timeoutMs: 20_000 });
        const id = answer.headers["mcp-session-id"];
        if (answer.status === 200 && id !== undefined) ids.push(id);
        else refused++;
        return refused < 20;
      };
      await upTo(10_500, 32, 120_000, open);
      const other = await second?.openSession();
      await closeSessions(first, ids);
      await other?.end();
      if (second !== undefined && other === undefined) {
        return gotThrough(`after ${ids.length} sessions of the first principal the second got none`);
      }
      const evidence = `${ids.length} sessions were opened, then ${refused} refused`;
      return refused === 0 ? gotThrough(`${evidence}: there is no bound`) : held(evidence);
    },
  },
  {
    id: "large-sessions",
    judgedBy: "memory",
    // Reading such bodies leaves garbage of many times their size; keeping all of them takes more than this.
    maxGrowth: 280,
    covers: ["S9", "V25"],
    title: "opens 80 sessions whose clients say 3.9 MB of themselves",
    needs: ["sessions"],
    async run({ first }) {
      const clientInfo = { name: "x".repeat(3_900_000), version: "1" };
      const initialize = initializeRequest();
      const body = JSON.stringify({ ...initialize, params: { ...initialize.params, clientInfo } });
      const ids = [];
      await upTo(80, 1, 60_000, async () => {
        await pause(CALM_MS);
        const answer = await first.wire.request({ body, timeoutMs: 20_000 });
        const id = answer.headers["mcp-session-id"];
        if (answer.status === 200 && id !== undefined) ids.push(id);
      });
      await pause(HOLD_MS);
      await closeSessions(first, ids);
      return held(`${ids.length} of 80 sessions were opened`);
    },
  },
  {
    id: "many-subscriptions",
    covers: ["S10", "V25"],
    title: "subscribes to 12,000 long URIs in one session",
    needs: ["sessions", "subscribe"],
    async run({ first, target }) {
      const session = await first.openSession();
      if (session === undefined) return notApplicable("the server refused a session");
      const base = target.resources[0]?.uri ?? "attack://resource";
      const subscribe = async (uriOf) => {
        let taken = 0;
        let refused = 0;
        await upTo(12_000, 8, 60_000, async (n) => {
          const { kind } = await session.call("resources/subscribe", { uri: uriOf(n) });
          if (kind === "result") taken++;
          else refused++;
          return refused < 50;
        });
        return { taken, isBounded: refused > 0 };
      };
      const short = await subscribe((n) => `${base}?n=${n}`);
      const long = await subscribe((n) => `${base}/${n}/${"x".repeat(32 * 1024)}`);
      await session.end();
      const evidence = `${short.taken} of 12,000 short URIs and ${long.taken} of 12,000 long ones were taken in time`;
      const isBounded = short.isBounded && long.isBounded;
      return isBounded ? held(`${evidence}, the others refused`) : gotThrough(`${evidence}, none was refused`);
    },
  },
  {
    id: "many-streams",
    covers: ["V25"],
    title: "opens 128 streams of one session",
    needs: ["sessions"],
    async run({ first }) {
      const session = await first.openSession();
      if (session === undefined) return notApplicable("the server refused a session");
      const streams = await Promise.all(Array.from({ length: 128 }, () => session.get()));
      const open = streams.filter(({ status, isOver: over }) => status === 200 && !over).length;
      for (const stream of streams) stream.close();
      await session.end();
      const evidence = `${open} of 128 streams were open at once`;
      return open === 128 ? gotThrough(`${evidence}: there is no bound`) : held(evidence);
    },
  },
  {
    id: "many-listeners",
    covers: ["S9", "V25"],
    title: "opens 1,000 subscription streams as one principal",
    needs: ["modern"],
    async run({ first, second }) {
      const params = { notifications: { toolsListChanged: true } };
      const streams = [];
      await upTo(1_000, 32, 60_000, async () => {
        streams.push(await first.modernStream("subscriptions/listen", params));
      });
      const open = streams.filter(({ status, isOver: over }) => status === 200 && !over).length;
      const other = await second?.modernStream("subscriptions/listen", params);
      await other?.find(({ method }) => method === "notifications/subscriptions/acknowledged", 5_000);
      const isServed = other === undefined || (other.status === 200 && other.messages.length > 0);
      for (const stream of [...streams, other]) stream?.close();
      return isServed
        ? held(`${open} of 1,000 streams were open, and the second principal got one`)
        : gotThrough(`with ${open} streams of the first principal the second got none (HTTP ${other.status})`);
    },
  },
  {
    id: "many-connections",
    judgedBy: "memory",
    covers: ["H1", "V24"],
    title: "opens 1,000 connections that say nothing",
    async run({ first }) {
      const opened = [];
      await upTo(1_000, 64, 20_000, async () => {
        opened.push(await first.wire.socket());
      });
      await pause(500);
      const open = opened.filter(({ isClosed }) => !isClosed).length;
      for (const { socket } of opened) socket.destroy();
      return held(`${open} of 1,000 connections stayed open`);
    },
  },
  {
    id: "batches",
    covers: ["H8", "V23"],
    title: "sends a batch of 50,000 notifications, and one of 50,000 requests",
    async run({ first }) {
      const session = await first.openSession({ revision: "2025-03-26" });
      const headers = session?.headers ?? {};
      const cancels = Array.from({ length: 50_000 }, (_, n) =>
        notification("notifications/cancelled", { requestId: n }),
      );
      const pings = Array.from({ length: 50_000 }, (_, n) => request("ping", undefined, n));
      const post = (batch) => first.wire.request({ headers, body: JSON.stringify(batch), timeoutMs: 30_000 });
      const told = await post(cancels);
      const asked = await post(pings);
      await session?.end();
      const done = asked.messages.filter((message) => "result" in message).length;
      const evidence = `notifications: HTTP ${told.status || told.failure}; requests: HTTP ${asked.status || asked.failure}, ${done} done`;
      return told.status === 202 || done > 10_000 ? gotThrough(evidence) : held(evidence);
    },
  },
  {
    id: "deep-json",
    covers: ["H2", "V23"],
    title: "sends JSON that is nested 2,000,000 levels deep",
    async run({ first }) {
      const depth = BODY / 2 - 1_000;
      const start = performance.now();
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${"[".repeat(depth)}${"]".repeat(depth)}}`;
      const answer = await first.wire.request({ headers: modernHeaders("tools/list"), body, timeoutMs: 20_000 });
      const evidence = `HTTP ${answer.status || answer.failure} after ${Math.round(performance.now() - start)} ms`;
      return answer.status >= 400 && answer.status < 500 ? held(evidence) : gotThrough(evidence);
    },
  },
];

/** Pipelines calls of a tool with a large result, or of the list of tools, and reads nothing for a while. */
async function leaveUnread({ first, uses, target }, more) {
  if (!target.isModern) return notApplicable("needs calls of 2026-07-28");
  const { large } = uses;
  const params = large ? { name: large.name, arguments: large.args, ...more } : more;
  const method = large ? "tools/call" : "tools/list";
  const raw = await first.wire.socket();
  raw.socket.pause();
  raw.socket.removeAllListeners("data");
  const calls = Array.from({ length: UNREAD }, (_, n) => first.modernBytes(method, params, n + 1)).join("");
  raw.socket.write(calls);
  await pause(HOLD_MS * 2);
  const isCut = raw.isClosed;
  raw.socket.destroy();
  return held(
    `${UNREAD} calls in ${Math.round(calls.length / 1024)} kB were left unread${isCut ? ", and the connection cut" : ""}`,
  );
}

/** Sends bodies but for their ends on 100 connections, and waits. */
async function leaveHalf(first, length, piece) {
  const head = first.wire.head({ headers: { ...modernHeaders("tools/list"), ...length } });
  const opened = await Promise.all(Array.from({ length: 100 }, () => first.wire.socket()));
  const taken = await Promise.all(
    opened.map(async ({ socket }) => {
      socket.write(head);
      return push(socket, piece, BODY / CHUNK - 1);
    }),
  );
  await pause(HOLD_MS);
  const open = opened.filter(({ isClosed }) => !isClosed).length;
  for (const { socket } of opened) socket.destroy();
  return held(`${toMib(sum(taken))} MiB of half bodies were taken, ${open} of 100 connections stayed open`);
}

/** A chunk with its length before it. */
function chunkFrame() {
  return Buffer.concat([Buffer.from(`${CHUNK.toString(16)}\r\n`), Buffer.alloc(CHUNK, " "), Buffer.from("\r\n")]);
}

async function closeSessions(principal, ids) {
  await upTo(ids.length, 32, 60_000, (n) =>
    principal.wire.request({ method: "DELETE", headers: { "mcp-session-id": ids[n] } }),
  );
}

/** Small objects in arrays, none of them longer than a bound on one array would allow. */
export function wideJson(bytes) {
  const part = `[${"{},".repeat(49_999)}{}]`;
  return `[${Array.from({ length: Math.floor(bytes / (part.length + 1)) }, () => part).join(",")}]`;
}

function isOver({ isClosed, text }) {
  return isClosed || text.startsWith("HTTP/");
}

function toMib(bytes) {
  return Math.round(bytes / MIB);
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function countOf(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => `${count} x ${value}`).join(", ");
}
