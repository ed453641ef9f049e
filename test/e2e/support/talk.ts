import { afterAll, beforeAll, expect } from "vitest";
import type { Client, ClientWarning, ConnectOptions, LogEntry } from "../../../src/connect/index.ts";
import type { Target } from "../../../src/connect/target.ts";
import { connect } from "./built.ts";
import { createLog, type Log } from "./events.ts";

/** A client of ours, and what it has heard. */
export interface Talk extends AsyncDisposable {
  readonly client: Client;
  readonly logged: Log<LogEntry>;
  readonly warnings: Log<ClientWarning>;
}

/** A user and a model that answer everything. */
export const helpful: ConnectOptions = {
  onElicit: ({ message }) => (message.includes("color") ? { color: "red" } : { name: "Ada" }),
  onSample: ({ maxTokens, messages }) => ({
    model: "parrot",
    role: "assistant",
    content: { type: "text", text: `${messages.length} message, ${maxTokens} tokens` },
  }),
  roots: [{ uri: "file:///home", name: "Home" }],
};

/** Connects somebody helpful. */
export async function openTalk(target: Target, options: ConnectOptions = {}): Promise<Talk> {
  const logged = createLog<LogEntry>();
  const warnings = createLog<ClientWarning>();
  const client = await connect(target, { ...helpful, onLog: logged.add, onWarning: warnings.add, ...options });
  return { client, logged, warnings, [Symbol.asyncDispose]: () => client.close() };
}

/** A talk for the tests of one block, which is over after them. Nothing may go wrong in it, not even silently. */
export function talkWith(target: Target, options?: ConnectOptions): () => Talk {
  let talk: Talk | undefined;
  beforeAll(async () => {
    talk = await openTalk(target, options);
  });
  afterAll(async () => {
    await talk?.client.close();
    expect(talk?.warnings.items).toEqual([]);
  });
  return () => {
    if (talk === undefined) throw new Error("there is no talk outside of the tests");
    return talk;
  };
}

/** The text of a tool's result. */
export async function call(client: Client, name: string, args = {}): Promise<string> {
  const { content } = await client.callTool(name, args);
  return content.map((block) => ("text" in block ? block.text : "")).join("");
}

/** The next thing somebody hears of. */
export async function next<T>(source: AsyncIterable<T>): Promise<T> {
  for await (const item of source) return item;
  throw new Error("there was nothing");
}
