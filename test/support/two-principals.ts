import { expect } from "vitest";
import { openHost } from "../../src/host/index.ts";
import type { JsonObject } from "../../src/json/json.ts";
import { AuthenticatedHttp } from "../../src/protocol/authenticator.ts";
import { metaKeys } from "../../src/protocol/meta.ts";
import { type Call, type Service, withCall, withMiddleware } from "../../src/protocol/service.ts";
import { tasksExtension } from "../../src/protocol/task.ts";
import { createServer, resource, type Server, tool } from "../../src/server/index.ts";
import { systemClock } from "../../src/std/clock.ts";
import type { Store } from "../../src/store/store.ts";
import { createEndpoint, type HttpEndpoint } from "../../src/transport/http/endpoint.ts";
import { messagesOf, modernRequest } from "./fake-endpoint.ts";
import { createFakeReply, type FakeReply, fakeHead } from "./fake-reply.ts";
import { eventually } from "./patience.ts";
import { hello, notification, request } from "./served.ts";
import { whoeverSays } from "./who.ts";

// Two principals who do all there is to do, each also to what the other has. What one may not touch must be as if it were
// not there, and nothing that one is told may come from the other.

/** What both use: one or several processes, which may share a store. */
export interface Place extends Pick<Way, "prefix" | "knowsPrincipals"> {
  /** Any of the processes. */
  endpoint(): HttpEndpoint;
  server(): Server;
  close(): Promise<void>;
}

/** A service that leads to a server. */
interface Way {
  readonly service: Service;
  /** Before the names of tools. */
  readonly prefix: string;
  /** Whether the server hears who calls. */
  readonly knowsPrincipals: boolean;
  close(): Promise<void>;
}

/** How the calls get to a server: as they are, or through something else. */
export type Route = (server: Server) => Promise<Way>;

export const directly: Route = async (server) => ({
  service: server,
  prefix: "",
  knowsPrincipals: true,
  close: async () => {},
});

/** A host hands on the calls of all. As over any connection of a host, the server does not hear whose they are. */
export const throughHost: Route = async (server) => {
  const target = withMiddleware(server, (next) => (call) => {
    const { auth: _, ...peer } = call.peer;
    return next(withCall(call, { peer }) as Call);
  });
  const host = await openHost({ shared: { target } }, { stateKeys: hostKeys });
  await host.settled();
  return { service: host, prefix: "shared__", knowsPrincipals: false, close: host.close };
};

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
const yes = { action: "accept", content: { ok: true } } as const;
const stateKeys = ["3cEDg27oIL_V-ILeoe_VehUlnEJoLp6vI9k6eSlNG8E"];
const hostKeys = ["fLNrCJkrN1lXNkYDYvSPvsxB5lOU5lVNdZ2RTE7Rsg0"];

/** `random` chooses the process of each request. */
export async function createPlace(
  stores: readonly (Store | undefined)[],
  random: Random,
  route: Route,
): Promise<Place> {
  const servers = stores.map(createSharedServer);
  const options = { auth: whoeverSays, sessionTtlMs: 0, keepAliveMs: 0, clock: systemClock } as const;
  const ways = await Promise.all(servers.map(route));
  const [{ prefix, knowsPrincipals }] = ways as [Way];
  const endpoints = ways.map(({ service }, index) => createEndpoint(service, { ...options, store: stores[index] }));
  return {
    prefix,
    knowsPrincipals,
    endpoint: () => random.pick(endpoints),
    server: () => random.pick(servers),
    async close() {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
      await Promise.all(ways.map((way) => way.close()));
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

function createSharedServer(store: Store | undefined): Server {
  const held = new Map<string, () => void>();
  return createServer({
    name: "shared",
    version: "1",
    store,
    stateKeys,
    subscribe: true,
    logging: true,
    timeoutMs: 0,
    resources: [resource("own://{who}", { read: ({ who }) => who })],
    tools: {
      echo: tool({ input: text, run: (input, { auth }) => `${auth?.principal}: ${input.text}` }),
      log: tool({
        input: text,
        run: async (input, ctx) => {
          for (const level of ["debug", "info", "error"] as const) await ctx.log(level, `${level} ${input.text}`);
          return "logged";
        },
      }),
      ask: tool({ input: text, run: async (input, ctx) => `${(await ctx.ask(input.text, form)).ok}: ${input.text}` }),
      work: tool({
        input: text,
        task: "required",
        run: async (input, ctx) => {
          ctx.progress(1, 2, `working on ${input.text}`);
          return `${(await ctx.ask(input.text, form)).ok}: ${input.text}`;
        },
      }),
      /** Ends when it is cancelled, or when `release` of the same text says so. */
      hold: tool({
        input: text,
        run: async (input, { signal }) =>
          new Promise((resolve, reject) => {
            held.set(input.text, () => resolve(`held ${input.text}`));
            signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          }),
      }),
      /** Says whether there was such a call in this process. */
      release: tool({
        input: text,
        run: (input) => {
          const release = held.get(input.text);
          held.delete(input.text);
          release?.();
          return String(release !== undefined);
        },
      }),
    },
  });
}

/** Numbers that are the same for the same seed. */
export interface Random {
  below(limit: number): number;
  pick<T>(items: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return { below, pick: (items) => items[below(items.length)] as never };
}

type Headers = Readonly<Record<string, string>>;

interface Question {
  readonly text: string;
  readonly state: string;
}

interface Hold {
  readonly id: string;
  readonly text: string;
  readonly reply: FakeReply;
}

/** One of the two, with all that it has. */
export class Person {
  readonly name: string;
  /** In everything that it says. */
  readonly secret: string;
  session: Headers | undefined;
  stream: FakeReply | undefined;
  level: "debug" | "info" | "error" = "info";
  readonly questions: Question[] = [];
  readonly tasks: { readonly id: string; readonly text: string }[] = [];
  readonly holds: Hold[] = [];
  readonly #place: Place;
  readonly #heard: FakeReply[] = [];
  #count = 0;

  constructor(name: string, place: Place) {
    this.name = name;
    this.secret = `secret-of-${name}`;
    this.#place = place;
  }

  /** A text that nobody else says. */
  say(): string {
    return `${this.secret}-${this.#count++}`;
  }

  /** All that it was ever told. */
  get heard(): string {
    return this.#heard.map(({ sent, sink }) => `${sent?.body ?? ""}${sink?.text ?? ""}`).join("\n");
  }

  send(message: unknown, headers: Headers = {}, method = "POST"): FakeReply {
    const reply = createFakeReply();
    this.#heard.push(reply);
    const head = new AuthenticatedHttp(
      fakeHead(headers, method),
      { principal: this.name, scopes: [] },
      new Set(["authorization"]),
    );
    this.#place.endpoint().handle(head, message === undefined ? "" : JSON.stringify(message), reply);
    return reply;
  }

  /** The last message of the answer to a request. */
  async answer(reply: FakeReply): Promise<JsonObject> {
    await reply.begun;
    // Others have their turn, too.
    await new Promise((resolve) => setImmediate(resolve));
    await until(() => reply.sent !== undefined || reply.sink?.state === "ended");
    return messagesOf(reply).at(-1) ?? {};
  }

  /** A request that says who sends it. */
  modern(method: string, params: JsonObject, more: JsonObject = {}): Promise<JsonObject> {
    const meta = { [metaKeys.clientCapabilities]: { elicitation: {}, extensions: { [tasksExtension]: {} } } };
    const { body, headers } = modernRequest(this.#count++, method, { ...params, ...more }, meta);
    const name = params.taskId === undefined ? {} : { "mcp-name": String(params.taskId) };
    return this.answer(this.send(body, { ...headers, ...name }));
  }

  call(name: string, said: string, more?: JsonObject): Promise<JsonObject> {
    return this.modern("tools/call", { name: this.tool(name), arguments: { text: said } }, more);
  }

  /** What a tool is called at this place. */
  tool(name: string): string {
    return `${this.#place.prefix}${name}`;
  }

  /** The status of a request in somebody's session. */
  async inSession(session: Headers, message: JsonObject | undefined, method?: string): Promise<number> {
    const reply = this.send(message, session, method);
    await reply.begun;
    return reply.sent?.status ?? 200;
  }

  async openSession(): Promise<Headers> {
    if (this.session !== undefined) return this.session;
    const reply = this.send(request(`${this.#count++}`, "initialize", hello("2025-11-25")));
    await reply.begun;
    const headers = reply.sent?.headers ?? reply.head ?? {};
    const session = { "mcp-session-id": String(headers["mcp-session-id"]) };
    await this.inSession(session, notification("notifications/initialized"));
    this.stream = this.send(undefined, session, "GET");
    await this.stream.begun;
    this.session = session;
    return session;
  }

  /** An id that both use: whose request it is, the session says. */
  nextId(): string {
    return `id-${this.#count++}`;
  }

  /** Ends what it has. */
  async leave(): Promise<void> {
    for (const reply of this.#heard) reply.leave();
    if (this.session !== undefined) await this.inSession(this.session, undefined, "DELETE");
  }
}

/** Waits for what happens by itself. */
export async function until(check: () => boolean): Promise<void> {
  for (let turns = 0; !check() && turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
  if (!check()) await eventually(() => expect(check()).toBe(true));
}

/** What the text of a result says; the message of an error. */
export function saidIn({ result, error }: JsonObject): string {
  if (error !== undefined) return String((error as JsonObject).message);
  const { content } = (result ?? {}) as { content?: readonly { text?: string }[] };
  return String(content?.[0]?.text);
}

/** Something that one does, or tries with what the other has. Rejects, or says what is wrong, when that comes out wrong. */
/** What a deed answers when there was nothing to do it with. */
export const notTried = Symbol("not tried");

/** Resolves to what went wrong, if something did. */
export type Deed = (
  own: Person,
  other: Person,
  place: Place,
  random: Random,
) => Promise<string | undefined | typeof notTried>;

/** A task that is none of this any more. */
function settled(status: () => Promise<JsonObject>, ...before: readonly string[]): Promise<JsonObject> {
  return eventually(async () => {
    const task = await status();
    expect(before).not.toContain(task.status);
    return task;
  });
}

const expected = (said: string, wanted: string): string | undefined =>
  said === wanted ? undefined : `${said} instead of ${wanted}`;
/** Who refuses may say more. */
const refused = (answer: JsonObject, why: string): string | undefined =>
  answer.error !== undefined && saidIn(answer).startsWith(why) ? undefined : `${saidIn(answer)} instead of ${why}`;
const unknownTask = "unknown task";
const refusedState = "the request state is refused: it belongs to another call or caller";

export const deeds: Readonly<Record<string, Deed>> = {
  async echo(own, _other, { knowsPrincipals }) {
    const said = own.say();
    return expected(saidIn(await own.call("echo", said)), `${knowsPrincipals ? own.name : undefined}: ${said}`);
  },
  async ask(own) {
    const said = own.say();
    const { result } = await own.call("ask", said);
    const { requestState } = result as { requestState: string };
    own.questions.push({ text: said, state: requestState });
    return undefined;
  },
  async answer(own, _other, _place, random) {
    if (own.questions.length === 0) return notTried;
    const [question] = own.questions.splice(random.below(own.questions.length), 1) as [Question];
    const more = { requestState: question.state, inputResponses: { "ask-1": yes } };
    return expected(saidIn(await own.call("ask", question.text, more)), `true: ${question.text}`);
  },
  async "answer the other"(own, other, _place, random) {
    if (other.questions.length === 0) return notTried;
    const question = random.pick(other.questions);
    const more = { requestState: question.state, inputResponses: random.pick([{}, { "ask-1": yes }]) };
    return refused(await own.call("ask", question.text, more), refusedState);
  },
  async "begin a task"(own) {
    const said = own.say();
    const { result } = await own.call("work", said);
    own.tasks.push({ id: (result as { taskId: string }).taskId, text: said });
    return undefined;
  },
  async "finish a task"(own, _other, _place, random) {
    if (own.tasks.length === 0) return notTried;
    const [task] = own.tasks.splice(random.below(own.tasks.length), 1) as [{ id: string; text: string }];
    const status = async (): Promise<JsonObject> =>
      (await own.modern("tasks/get", { taskId: task.id })).result as JsonObject;
    const waiting = await settled(status, "working");
    if (waiting.status !== "input_required") return `a task is ${waiting.status} before it was answered`;
    await own.modern("tasks/update", { taskId: task.id, inputResponses: { "ask-1": yes } });
    const done = await settled(status, "working", "input_required");
    if (done.status !== "completed") return `a task is ${done.status}`;
    return expected(saidIn({ result: done.result as JsonObject }), `true: ${task.text}`);
  },
  async "touch a task of the other"(own, other, _place, random) {
    if (other.tasks.length === 0) return notTried;
    const { id: taskId } = random.pick(other.tasks);
    const method = random.pick(["tasks/get", "tasks/update", "tasks/cancel"]);
    const params = method === "tasks/update" ? { taskId, inputResponses: { "ask-1": yes } } : { taskId };
    return refused(await own.modern(method, params), unknownTask);
  },
  async "list tasks"(own, other) {
    const session = await own.openSession();
    const listed = await own.answer(own.send(request(own.nextId(), "tasks/list"), session));
    const ids = JSON.stringify(listed);
    return other.tasks.some(({ id }) => ids.includes(id)) ? "a task of the other is listed" : undefined;
  },
  async "listen to a task of the other"(own, other, _place, random) {
    if (other.tasks.length === 0) return notTried;
    const { id } = random.pick(other.tasks);
    const meta = { [metaKeys.clientCapabilities]: { extensions: { [tasksExtension]: {} } } };
    const { body, headers } = modernRequest(
      own.nextId(),
      "subscriptions/listen",
      { notifications: { taskIds: [id] } },
      meta,
    );
    const reply = own.send(body, headers);
    await reply.begun;
    await until(() => messagesOf(reply).length > 0);
    const [acknowledged] = messagesOf(reply);
    return JSON.stringify(acknowledged).includes(id) ? "the task of the other is watched" : undefined;
  },
  async subscribe(own, _other, place) {
    const session = await own.openSession();
    const uri = `own://${own.secret}`;
    const subscribed = await own.answer(own.send(request(own.nextId(), "resources/subscribe", { uri }), session));
    if (subscribed.error !== undefined) return saidIn(subscribed);
    const { stream } = own;
    // A host may listen only after it has answered.
    await eventually(() => {
      place.server().resourceUpdated(uri);
      expect(stream?.sink?.text).toContain(uri);
    });
    return undefined;
  },
  async "set the log level"(own, _other, _place, random) {
    const session = await own.openSession();
    const level = random.pick(["debug", "info", "error"] as const);
    const set = await own.answer(own.send(request(own.nextId(), "logging/setLevel", { level }), session));
    if (set.error !== undefined) return saidIn(set);
    own.level = level;
    return undefined;
  },
  async log(own) {
    const session = await own.openSession();
    const said = own.say();
    const reply = own.send(
      request(own.nextId(), "tools/call", { name: own.tool("log"), arguments: { text: said } }),
      session,
    );
    await own.answer(reply);
    const levels = messagesOf(reply).flatMap(({ method, params }) =>
      method === "notifications/message" ? [String((params as JsonObject).level)] : [],
    );
    const all = ["debug", "info", "error"];
    return expected(levels.join(), all.slice(all.indexOf(own.level)).join());
  },
  async hold(own) {
    const session = await own.openSession();
    const said = own.say();
    // Other ids both use. What one cancels in its own session must be the other's.
    const id = `${own.name} holds ${said}`;
    const reply = own.send(request(id, "tools/call", { name: own.tool("hold"), arguments: { text: said } }), session);
    own.holds.push({ id, text: said, reply });
    return undefined;
  },
  async release(own) {
    const hold = own.holds.shift();
    if (hold === undefined) return notTried;
    while (saidIn(await own.call("release", hold.text)) !== "true");
    return expected(saidIn(await own.answer(hold.reply)), `held ${hold.text}`);
  },
  async "cancel a request of the other"(own, other) {
    const [hold] = other.holds;
    if (hold === undefined || other.session === undefined) return notTried;
    const cancel = notification("notifications/cancelled", { requestId: hold.id });
    await own.inSession(await own.openSession(), cancel);
    const status = await own.inSession(other.session, cancel);
    const isEnded = other.holds.includes(hold) && hold.reply.sent !== undefined;
    return isEnded ? "the call of the other ended" : expected(String(status), "404");
  },
  async "use the session of the other"(own, other, _place, random) {
    const { session } = other;
    if (session === undefined) return notTried;
    const uri = `own://${own.secret}`;
    const attempt = random.pick<readonly [JsonObject | undefined, string]>([
      [request("1", "tools/call", { name: own.tool("echo"), arguments: { text: own.say() } }), "POST"],
      [request("1", "logging/setLevel", { level: "error" }), "POST"],
      [request("1", "resources/subscribe", { uri }), "POST"],
      [request("1", "tasks/list"), "POST"],
      [{ jsonrpc: "2.0", id: "1", result: yes }, "POST"],
      [undefined, "GET"],
      [undefined, "DELETE"],
    ]);
    return expected(String(await own.inSession(session, ...attempt)), "404");
  },
  async "pick up a stream of the other"(own, other) {
    const lastId = /^id: (.+)$/m.exec(other.stream?.sink?.text ?? "")?.[1];
    if (lastId === undefined || other.session === undefined) return notTried;
    const theirs = await own.inSession({ ...other.session, "last-event-id": lastId }, undefined, "GET");
    const again = own.send(undefined, { ...(await own.openSession()), "last-event-id": lastId }, "GET");
    await again.begun;
    again.leave();
    return expected(String(theirs), "404");
  },
};

interface Interleaving {
  readonly count: number;
  readonly random: Random;
  readonly tried: Map<string, number>;
}

/**
 * Lets two principals do `count` random things, each one thing at a time, both at the same time. Resolves to what went wrong;
 * `tried` counts what was really done.
 */
export async function interleave(
  place: Place,
  name: string,
  { count, random, tried }: Interleaving,
): Promise<readonly string[]> {
  const [ann, eve] = [new Person(`ann-${name}`, place), new Person(`eve-${name}`, place)];
  const wrong: string[] = [];
  const busy = new Map<Person, Promise<void>>();

  for (let done = 0; done < count; done++) {
    const [own, other] = random.below(2) === 0 ? [ann, eve] : [eve, ann];
    const [deed, run] = random.pick(Object.entries(deeds));
    await busy.get(own);
    const work = run(own, other, place, random).then(
      (problem) => {
        if (problem !== notTried) tried.set(deed, (tried.get(deed) ?? 0) + 1);
        if (typeof problem === "string") wrong.push(`${own.name}, ${deed}: ${problem}`);
      },
      (error: unknown) => void wrong.push(`${own.name}, ${deed}: ${error}`),
    );
    busy.set(own, work);
  }
  await Promise.all(busy.values());
  // What each has left is still its own.
  for (const own of [ann, eve]) {
    while (own.holds.length > 0) await check(own, "release");
    while (own.questions.length > 0) await check(own, "answer");
    while (own.tasks.length > 0) await check(own, "finish a task");
  }
  for (const own of [ann, eve]) {
    const names = [...own.heard.matchAll(/secret-of-(\w+-\d+)/g)].map(([, owner]) => owner);
    const others = new Set(names.filter((owner) => owner !== own.name));
    if (others.size > 0) wrong.push(`${own.name} heard of ${[...others].join()}`);
  }
  await Promise.all([ann.leave(), eve.leave()]);
  return wrong;

  async function check(own: Person, deed: string): Promise<void> {
    const problem = await deeds[deed]?.(own, own, place, random).catch((error: unknown) => String(error));
    if (typeof problem === "string") wrong.push(`${own.name}, ${deed} at the end: ${problem}`);
  }
}
