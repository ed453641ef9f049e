import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import { afterAll, beforeAll } from "vitest";
import type { Log } from "./events.ts";

/** A client of the official SDK in a session, in terms that its versions have in common. */
export interface Official<C extends OfficialClient = OfficialClient> {
  readonly client: C;
  /** How the user fills the next form, or what they say of the page that they are sent to. */
  fill: Fill;
  /** What the model says next. */
  sample: (asked: Sampling) => Sample | Promise<Sample>;
  /** Calls a tool and gives all that it returns. */
  callTool(params: ToolCall, options?: CallOptions): Promise<ToolResult>;
  /** Calls a tool and gives the text it returns. */
  call(name: string, args?: ToolCall["arguments"]): Promise<string>;
  /** The changes it has heard of: lists by their kind, resources by their URI. */
  readonly changes: Log<string>;
  /** The log messages it has heard. */
  readonly logged: Log<{ readonly level: string; readonly data?: unknown }>;
}

/** What both versions name and answer alike. */
export interface OfficialClient {
  getServerVersion(): unknown;
  getServerCapabilities(): unknown;
  getInstructions(): string | undefined;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>;
  listResourceTemplates(): Promise<{ readonly resourceTemplates: readonly { readonly uriTemplate: string }[] }>;
  listPrompts(): Promise<{ readonly prompts: readonly { readonly name: string }[] }>;
  readResource(params: { uri: string }): Promise<{ readonly contents: readonly object[] }>;
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<{ messages: readonly object[] }>;
  complete(params: Completion): Promise<{ readonly completion: { readonly values: readonly string[] } }>;
  ping(): Promise<object>;
  setLoggingLevel(level: "debug" | "error"): Promise<object>;
  subscribeResource(params: { uri: string }): Promise<object>;
  unsubscribeResource(params: { uri: string }): Promise<object>;
  close(): Promise<void>;
}

export type Fill = (asked: ElicitRequest["params"]) => ElicitResult | Promise<ElicitResult>;

export interface ToolCall {
  name: string;
  arguments?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
}

export interface CallOptions {
  signal?: AbortSignal;
  onprogress?: (progress: object) => void;
  timeout?: number;
  resetTimeoutOnProgress?: boolean;
}

export interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
}

interface Completion {
  ref: { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };
  argument: { name: string; value: string };
}

/** What a client says that it can be asked. */
export const capabilities = {
  elicitation: { form: { applyDefaults: true }, url: {} },
  sampling: { tools: {} },
  roots: { listChanged: true },
} satisfies object;

/** A model that repeats what it hears. */
export function parrot({ messages, maxTokens }: Sampling): Sample {
  return sampled(`${maxTokens}: ${JSON.stringify(messages[0]?.content)}`);
}

export function sampled(text: string): Sample {
  return { model: "parrot", role: "assistant", content: { type: "text", text } };
}

interface Sampling {
  readonly messages: readonly { readonly content: unknown }[];
  readonly maxTokens: number;
  readonly tools?: readonly { readonly name: string }[] | undefined;
  readonly toolChoice?: { readonly mode?: string | undefined } | undefined;
}

interface Sample {
  [member: string]: unknown;
  model: string;
  role: "assistant";
  content: { type: "text"; text: string } | ToolUse;
  stopReason?: string;
}

interface ToolUse {
  [member: string]: unknown;
  type: "tool_use";
  id: string;
  name: string;
  input: Record<string, unknown>;
}

/** The roots of a client. */
export const home = { roots: [{ uri: "file:///home", name: "Home" }] } satisfies object;

export function textOf({ content }: ToolResult): string {
  return content.map(({ text = "" }) => text).join("");
}

/** A session for the tests of one block, which is closed after them. */
export function sessionFor<S extends Official>(open: () => Promise<S>): () => S {
  let session: S | undefined;
  beforeAll(async () => {
    session = await open();
  });
  afterAll(() => session?.client.close());
  return () => {
    if (session === undefined) throw new Error("there is no session outside of the tests");
    return session;
  };
}
