import type { JsonObject } from "../../src/json/json.ts";
import type { Method } from "../../src/protocol/methods.ts";
import { type CallSource, createCall, type Outcome, type Service } from "../../src/protocol/service.ts";
import { type Awaitable, promised } from "../../src/std/awaitable.ts";
import { LazyAbort } from "../../src/std/lazy-abort.ts";
import type { Store, StoreValues } from "../../src/store/store.ts";

const peer = { revision: "2026-07-28", capabilities: {} } as const;

export function callOf(method: Method, params: JsonObject = {}, changes: Partial<CallSource> = {}) {
  return createCall({ method, params, peer, abort: new LazyAbort(), notify: () => undefined, ...changes });
}

/** A server whose answers are numbered, and may be kept as `hints` says. */
export interface NumberedServer {
  readonly service: Service;
  hints: JsonObject;
  /** How often it was asked. */
  readonly asked: number;
}

export function numberedServer(hints: JsonObject): NumberedServer {
  let asked = 0;
  const server: NumberedServer = {
    hints,
    get asked() {
      return asked;
    },
    service: (async ({ method }) => {
      asked++;
      return { kind: "complete", result: { ...listed(method, asked), ...server.hints } };
    }) as Service,
  };
  return server;
}

/** A result of a method that tells its number. */
function listed(method: string, count: number): JsonObject {
  const name = String(count);
  switch (method) {
    case "tools/list":
      return { tools: [{ name, inputSchema: { type: "object" } }] };
    case "prompts/list":
      return { prompts: [{ name }] };
    case "resources/list":
      return { resources: [{ name, uri: "a:b" }] };
    case "resources/templates/list":
      return { resourceTemplates: [{ name, uriTemplate: "a:{b}" }] };
    case "resources/read":
      return { contents: [{ uri: "a:b", text: name }] };
    default:
      return { supportedVersions: [], capabilities: {}, serverInfo: { name, version: "1" } };
  }
}

/** The number of an answer. */
export async function countOf(outcome: Promise<Outcome> | Outcome): Promise<number> {
  const text = JSON.stringify(await outcome);
  const [, count] = /"(?:name|text)":"(\d+)"/.exec(text) ?? [];
  if (count === undefined) throw new Error(`no number in ${text}`);
  return Number(count);
}

/** A store, seen through something that may fail or keep silent. */
export interface FlakyStore extends Store {
  /** How calls go. Those that are held are carried out, but nobody hears of it before they are let go. */
  mood: "fine" | "failing" | "silent" | "held";
  letGo(): void;
  /** What was put, by name. */
  readonly written: ReadonlyMap<string, string>;
}

export function flakyStore(store: Store): FlakyStore {
  const written = new Map<string, string>();
  const held: (() => void)[] = [];
  const letGo = (): void => {
    for (const go of held.splice(0)) go();
  };
  const flaky: FlakyStore = { ...store, mood: "fine", written, letGo, values: store.values };
  const asked = <T>(work: () => Awaitable<T>): Promise<T> => {
    if (flaky.mood === "failing") return Promise.reject(new Error("the store is away"));
    if (flaky.mood === "silent") return new Promise<T>(() => {});
    const answer = promised(work);
    return flaky.mood === "fine" ? answer : new Promise<void>((resolve) => held.push(resolve)).then(() => answer);
  };
  const { values } = store;
  const wrapped: StoreValues = {
    ...values,
    get: (name) => asked(() => values.get(name)),
    put: (name, text, options) =>
      asked(() => {
        written.set(name, text);
        return values.put(name, text, options);
      }),
    delete: (name, options) => asked(() => values.delete(name, options)),
  };
  return Object.assign(flaky, { values: wrapped });
}
