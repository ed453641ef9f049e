import { setTimeout as pause } from "node:timers/promises";
import { answerTo, describe, isRefused, notification, request, textOf } from "../messages.mjs";
import { gotThrough, held, judge, notApplicable, quoted } from "../verdicts.mjs";
import { withText } from "./messages.mjs";

// What one principal could do with what belongs to another: sessions, events, requests and questions.

/** How long something that must not happen is waited for. */
const WATCH_MS = 700;

export const principalAttacks = [
  {
    id: "guessed-sessions",
    covers: ["V5"],
    title: "uses session ids that were never given out, and names its own",
    needs: ["sessions"],
    async run({ first }) {
      const ids = [
        "1",
        "0",
        "session",
        "__proto__",
        "constructor",
        "../1",
        "x".repeat(4_000),
        "00000000-0000-4000-8000-000000000000",
      ];
      const problems = [];
      for (const id of ids) {
        const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
        for (const method of ["POST", "GET", "DELETE"]) {
          const body = method === "POST" ? JSON.stringify(request("tools/list")) : undefined;
          const { status } = await first.wire.request({ method, headers, body, timeoutMs: 2_000 });
          if (status >= 200 && status < 300) problems.push(`${method} with session ${quoted(id)} got HTTP ${status}`);
        }
      }
      const given = await Promise.all(Array.from({ length: 20 }, () => first.openSession()));
      const known = given.flatMap((session) => (session ? [session.id] : []));
      if (new Set(known).size !== known.length) problems.push("a session id was given out twice");
      const shortest = Math.min(...known.map((id) => id.length));
      if (shortest < 21) problems.push(`session ids have ${shortest} characters`);
      await Promise.all(given.map((session) => session?.end()));
      return judge(problems, `${ids.length} made-up ids were refused; ids have ${shortest} characters`);
    },
  },
  {
    id: "foreign-session",
    covers: ["V5", "S6"],
    title: "uses a session of another principal",
    needs: ["sessions", "second"],
    async run({ first, second }) {
      const session = await second.openSession();
      if (session === undefined) return notApplicable("the second principal got no session");
      const by = first.wire;
      const problems = [];
      const asked = await session.call("tools/list", {}, { by });
      if (!isRefused(asked)) problems.push(`a request in it: ${describe(asked)}`);
      const told = await session.post(notification("notifications/roots/list_changed"), { by });
      if (told.status < 400) problems.push(`a notification in it: HTTP ${told.status}`);
      const read = await session.get({ by });
      if (read.status === 200) problems.push("its stream was opened");
      read.close();
      const ended = await session.end(by);
      if (ended.status < 400) problems.push(`DELETE of it: HTTP ${ended.status}`);
      const after = await session.call("tools/list", {});
      if (after.kind !== "result") problems.push(`its owner then got ${describe(after)}`);
      await session.end();
      return judge(problems, `HTTP ${asked.status} for every use, and its owner went on`);
    },
  },
  {
    id: "foreign-events",
    covers: ["V6"],
    title: "resumes a stream of another principal by its event id",
    needs: ["sessions", "second"],
    async run({ first, second, uses }) {
      const { ask, slow, echo } = uses;
      const use = ask ?? slow ?? echo;
      if (use === undefined) return notApplicable("needs a tool with the role ask, slow or echo");
      const victim = await second.openSession();
      const own = await first.openSession();
      if (victim === undefined || own === undefined) return notApplicable("a session was refused");
      const marker = "secret-of-the-second";
      const params = { name: use.name, arguments: withText(use, marker), _meta: { progressToken: "p" } };
      const call = victim.stream(request("tools/call", params, 7));
      const listening = await victim.get();
      const calling = await Promise.race([call, pause(WATCH_MS)]);
      await pause(WATCH_MS);
      const ids = [...(calling?.ids ?? []), ...listening.ids];
      const guesses = ["0", "1", "0-0", "event-0", ...ids.map((id) => id.replace(/\d+$/, "0"))];
      const problems = [];
      for (const lastEventId of new Set([...ids, ...guesses])) {
        const stream = await own.get({ lastEventId });
        await stream.find(({ method }) => method === undefined, WATCH_MS / 2);
        const heard = stream.messages.filter((message) => !String(message.method).includes("truncated"));
        if (JSON.stringify(heard).includes(marker) || heard.some(({ id }) => id === 7)) {
          problems.push(`event id ${quoted(lastEventId)} gave ${quoted(JSON.stringify(heard[0]))}`);
        }
        stream.close();
      }
      calling?.close();
      listening.close();
      await Promise.all([victim.end(), own.end()]);
      return judge(
        problems,
        `${ids.length} event ids of the second principal and ${guesses.length} guesses gave nothing`,
      );
    },
  },
  {
    id: "foreign-cancel",
    covers: ["V4", "V5"],
    title: "cancels a request of another principal",
    needs: ["second", "slow"],
    async run({ first, second, uses, target }) {
      const { slow } = uses;
      const params = { name: slow.name, arguments: slow.args };
      const cancel = (id) => notification("notifications/cancelled", { requestId: id, reason: "attack" });
      const problems = [];
      if (target.hasSessions) {
        const victim = await second.openSession();
        const own = await first.openSession();
        if (victim === undefined || own === undefined) return notApplicable("a session was refused");
        const running = victim.call("tools/call", params, { id: 7, timeoutMs: 15_000 });
        await pause(150);
        await own.post(cancel(7));
        await victim.post(cancel(7), { by: first.wire });
        const answer = await running;
        if (answer.kind !== "result") problems.push(`in a session: ${describe(answer)}`);
        await Promise.all([victim.end(), own.end()]);
      }
      if (target.isModern) {
        const running = second.modern("tools/call", params, { id: 7, timeoutMs: 15_000 });
        await pause(150);
        await first.modern("notifications/cancelled", { requestId: 7 });
        await first.wire.request({
          headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "notifications/cancelled" },
          body: JSON.stringify(cancel(7)),
        });
        const answer = await running;
        if (answer.kind !== "result") problems.push(`in 2026-07-28: ${describe(answer)}`);
      }
      return judge(problems, "the call went on to its result");
    },
  },
  {
    id: "foreign-answer",
    covers: ["V4", "V7"],
    title: "answers a question that another principal was asked",
    needs: ["sessions", "second", "ask"],
    async run({ first, second, uses }) {
      const { ask } = uses;
      const victim = await second.openSession({ capabilities: { elicitation: {} } });
      const own = await first.openSession({ capabilities: { elicitation: {} } });
      if (victim === undefined || own === undefined) return notApplicable("a session was refused");
      const stream = await victim.stream(request("tools/call", { name: ask.name, arguments: ask.args }, 7));
      const question = await stream.find(({ method }) => method === "elicitation/create");
      if (question === undefined) return notApplicable(`${ask.name} asks nothing in a session`);
      const answer = { jsonrpc: "2.0", id: question.id, result: answerTo(question.params) };
      await own.post(answer);
      await victim.post(answer, { by: first.wire });
      const early = await stream.find(({ id }) => id === 7, WATCH_MS);
      if (early !== undefined) return gotThrough("the call of the second principal was answered by the first");
      await victim.post(answer);
      const late = await stream.find(({ id }) => id === 7);
      await Promise.all([victim.end(), own.end()]);
      return late?.result === undefined
        ? gotThrough("its owner could not answer any more")
        : held("the answer was not taken, and that of its owner was");
    },
  },
  {
    id: "equal-ids",
    covers: ["V4"],
    title: "uses the ids of another principal's requests at the same time",
    needs: ["second", "echo"],
    async run({ first, second, uses, target }) {
      const { echo } = uses;
      if (Object.values(echo.args).every((value) => typeof value !== "string")) {
        return notApplicable("the tool with the role echo takes no text");
      }
      const own = target.hasSessions ? await first.openSession() : undefined;
      const other = target.hasSessions ? await second.openSession() : undefined;
      const callers = [
        [
          "first",
          (params, id) =>
            target.isModern ? first.modern("tools/call", params, { id }) : own.call("tools/call", params, { id }),
        ],
        [
          "second",
          (params, id) =>
            target.isModern ? second.modern("tools/call", params, { id }) : other.call("tools/call", params, { id }),
        ],
      ];
      if (own && other) {
        callers.push(["first", (params, id) => own.call("tools/call", params, { id })]);
        callers.push(["second", (params, id) => other.call("tools/call", params, { id })]);
      }
      const problems = [];
      for (let id = 1; id <= 20; id++) {
        await Promise.all(
          callers.map(async ([name, send]) => {
            const answer = await send({ name: echo.name, arguments: withText(echo, `of the ${name}`) }, id);
            const stranger = name === "first" ? "second" : "first";
            if (textOf(answer.result).includes(`of the ${stranger}`))
              problems.push(`the ${name} got the answer of the ${stranger}`);
          }),
        );
      }
      await Promise.all([own?.end(), other?.end()]);
      return judge(problems, `${callers.length * 20} calls with equal ids got their own answers`);
    },
  },
  {
    id: "duplicate-ids",
    covers: ["V34"],
    title: "sends two requests with one id at the same time",
    needs: ["sessions", "slow"],
    async run({ first, uses }) {
      const session = await first.openSession();
      if (session === undefined) return notApplicable("the server refused a session");
      const { slow } = uses;
      const params = { name: slow.name, arguments: slow.args };
      const running = session.call("tools/call", params, { id: 7, timeoutMs: 15_000 });
      await pause(100);
      const again = await session.call("tools/list", {}, { id: 7, timeoutMs: 15_000 });
      const answer = await running;
      await session.end();
      const problems = [];
      if (answer.kind !== "result") problems.push(`the first request got ${describe(answer)}`);
      if (answer.result?.tools !== undefined) problems.push("the first request got the answer of the second");
      if (again.kind === "result" && again.result.tools === undefined)
        problems.push("the second request got the answer of the first");
      return judge(problems, `the first was answered, the second got ${describe(again)}`);
    },
  },
];
