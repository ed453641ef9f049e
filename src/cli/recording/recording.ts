import { createReadStream } from "node:fs";
import { isObject, type Json, type JsonObject } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import { createLineSplitter } from "../../std/lines.ts";
import { UsageError } from "../usage-error.ts";

export type Sender = "client" | "server";

/** One line of a recording after its first. */
export type RecordingEntry =
  /** `at` is in milliseconds from the beginning. */
  | { readonly at: number; readonly from: Sender; readonly message: Json }
  /** A line that is no message. */
  | { readonly at: number; readonly from: Sender; readonly text: string };

/** A request of the client, and what the server answered. */
export interface RecordedCall {
  readonly method: string;
  readonly params: JsonObject;
  /** What the server sent between the request and the answer, such as progress: notifications about this request or all. */
  readonly notifications: readonly JsonObject[];
  /** A response without its id. Undefined when none was recorded. */
  readonly response: JsonObject | undefined;
}

export interface Recording {
  /** What was recorded. */
  readonly of: string;
  readonly isRedacted: boolean;
  readonly calls: readonly RecordedCall[];
}

export function formatEntry(entry: RecordingEntry): string {
  return JSON.stringify(entry);
}

const maxMessages = 1_000_000;
const jsonLimits = { maxJsonDepth: 256, maxJsonNodes: 1_000_000 };

/** Reads a recording. Throws a {@link UsageError} that names the line when the file is none. */
export async function readRecording(path: string): Promise<Recording> {
  let head: JsonObject | undefined;
  let at = 0;
  const calls = createCallList();
  for await (const line of linesOf(path)) {
    at++;
    const parsed = parseJson(line, jsonLimits);
    if (!parsed.ok || !isObject(parsed.value)) throw noRecording(path, at);
    if (head === undefined) head = parsed.value;
    else addEntry(parsed.value, calls);
    if (head.recording !== 1) throw noRecording(path, at);
    if (at > maxMessages) throw new UsageError(`${path} has more than ${maxMessages} messages`);
  }
  if (head === undefined) throw noRecording(path, 1);
  return { of: typeof head.of === "string" ? head.of : "", isRedacted: head.isRedacted === true, calls: calls.list };
}

function addEntry({ from, message }: JsonObject, calls: CallList): void {
  if (message === undefined || (from !== "client" && from !== "server")) return;
  for (const one of [message].flat()) if (isObject(one)) calls.add(from, one);
}

function noRecording(path: string, line: number): UsageError {
  return new UsageError(`${path}:${line}: this is no recording`, "write one with: plugbay record <target> -o <file>");
}

async function* linesOf(path: string): AsyncIterable<string> {
  const splitter = createLineSplitter({ maxBytes: 134_217_728 });
  const file = createReadStream(path);
  try {
    for await (const chunk of file) {
      for (const line of splitter.push(chunk)) yield typeof line === "string" ? line : "";
    }
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface Draft {
  readonly method: string;
  readonly params: JsonObject;
  readonly notifications: JsonObject[];
  response: RecordedCall["response"];
}

interface CallList {
  readonly list: readonly RecordedCall[];
  add(from: Sender, message: JsonObject): void;
}

/** Puts requests, notifications and responses together. */
function createCallList(): CallList {
  const list: Draft[] = [];
  const open = new Map<Json, Draft>();

  const fromClient = ({ id, method, params }: JsonObject): void => {
    if (typeof method !== "string" || id === undefined) return;
    const call: Draft = { method, params: isObject(params) ? params : {}, notifications: [], response: undefined };
    list.push(call);
    open.set(id, call);
  };
  const fromServer = (message: JsonObject): void => {
    const { id, method, result, error } = message;
    if (typeof method === "string") {
      if (id === undefined) callOf(message, open)?.notifications.push(message);
      return;
    }
    const call = id === undefined ? undefined : open.get(id);
    if (call === undefined || id === undefined) return;
    call.response = error === undefined ? { result: result ?? {} } : { error };
    open.delete(id);
  };
  return { list, add: (from, message) => (from === "client" ? fromClient(message) : fromServer(message)) };
}

/** The open call that a notification is about: by its progress token, else the one that began last. */
function callOf({ params }: JsonObject, open: ReadonlyMap<Json, Draft>): Draft | undefined {
  const token = isObject(params) ? params.progressToken : undefined;
  const calls = [...open.values()];
  return token === undefined ? calls.at(-1) : calls.find((call) => progressTokenOf(call.params) === token);
}

export function progressTokenOf({ _meta }: JsonObject): Json | undefined {
  return isObject(_meta) ? _meta.progressToken : undefined;
}
