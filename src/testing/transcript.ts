import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { encodeMessage, type Incoming, type Message } from "../jsonrpc/message.ts";

/** One message as it was on the wire. */
export interface TranscriptLine {
  /** `>` for what was sent into the channel, `<` for what came out of it. */
  readonly direction: ">" | "<";
  readonly message: JsonObject;
}

/** What went over a channel, in order. */
export interface Transcript {
  readonly lines: readonly TranscriptLine[];
  /** One message a line, with its direction in front: good for a golden file. */
  toText(): string;
}

export interface RecordOptions {
  /**
   * Members that differ from run to run, by name: their values are replaced by
   * a placeholder. Default: none.
   */
  readonly mask?: readonly string[] | undefined;
}

/**
 * Records what goes over a channel. Use the returned channel instead of the one
 * given.
 *
 * What comes out is recorded when it is read, a batch as its messages one by
 * one. What is no message is not recorded.
 */
export function recordChannel(channel: Channel, { mask = [] }: RecordOptions = {}): Channel & Transcript {
  const lines: TranscriptLine[] = [];
  const masked = new Set(mask);

  const toLine = (direction: TranscriptLine["direction"], message: Message): TranscriptLine => {
    const wire = JSON.parse(encodeMessage(message)) as JsonObject;
    return { direction, message: maskMembers(wire, masked) };
  };

  return {
    incoming: tap(channel.incoming, (message) => lines.push(toLine("<", message))),
    send(message) {
      const line = toLine(">", message);
      const written = channel.send(message);
      lines.push(line);
      return written;
    },
    close: () => channel.close(),
    lines,
    toText: () => lines.map(({ direction, message }) => `${direction} ${JSON.stringify(message)}\n`).join(""),
  };
}

/** Reads a transcript back from its text. Blank lines and those that start with `#` are skipped. Throws when a line is none. */
export function parseTranscript(text: string): readonly TranscriptLine[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map(parseLine);
}

function parseLine(line: string): TranscriptLine {
  const direction = line[0];
  const message = parseObject(line.slice(1));
  if ((direction !== ">" && direction !== "<") || message === undefined) throw new Error(`not a line: ${line}`);
  return { direction, message };
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The first line in which two transcripts differ, or undefined when they are equal. */
export function diffTranscripts(
  actual: readonly TranscriptLine[],
  expected: readonly TranscriptLine[],
):
  | {
      readonly index: number;
      readonly actual: TranscriptLine | undefined;
      readonly expected: TranscriptLine | undefined;
    }
  | undefined {
  const length = Math.max(actual.length, expected.length);
  for (let index = 0; index < length; index++) {
    const pair = { index, actual: actual[index], expected: expected[index] };
    if (JSON.stringify(pair.actual) !== JSON.stringify(pair.expected)) return pair;
  }
  return undefined;
}

async function* tap(source: Channel["incoming"], see: (message: Message) => void) {
  for await (const together of source) {
    for (const incoming of together) for (const message of messagesOf(incoming)) see(message);
    yield together;
  }
}

function messagesOf(incoming: Incoming): readonly Message[] {
  if (incoming.kind === "malformed" || incoming.kind === "undelivered") return [];
  return incoming.kind === "batch" ? incoming.items.flatMap(messagesOf) : [incoming];
}

function maskMembers(value: JsonObject, names: ReadonlySet<string>): JsonObject {
  const members = Object.entries(value).map(([key, member]) => [
    key,
    names.has(key) ? `<${key}>` : maskValue(member ?? null, names),
  ]);
  return Object.fromEntries(members);
}

function maskValue(value: Json, names: ReadonlySet<string>): Json {
  if (Array.isArray(value)) return value.map((item: Json) => maskValue(item, names));
  return isObject(value) ? maskMembers(value, names) : value;
}
