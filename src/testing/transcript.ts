import { isObject, type Json, type JsonObject } from "../json/json.ts";
import type { Channel } from "../jsonrpc/channel.ts";
import { encodeMessage, type Incoming, type Message } from "../jsonrpc/message.ts";

/** One message as it was on the wire. */
export interface Line {
  /** `>` for what was sent into the channel, `<` for what came out of it. */
  readonly direction: ">" | "<";
  readonly message: JsonObject;
}

/** What went over a channel, in order. */
export interface Transcript {
  readonly lines: readonly Line[];
  /** One message a line, with its direction in front: good for a golden file. */
  toText(): string;
}

export interface RecordOptions {
  /**
   * Members that differ from run to run, by name: their values are replaced by
   * a placeholder. Default: none.
   */
  readonly mask?: readonly string[];
}

/** Records what goes over a channel. Use the returned channel instead of the one given. */
export function recordChannel(channel: Channel, { mask = [] }: RecordOptions = {}): Channel & Transcript {
  const lines: Line[] = [];
  const masked = new Set(mask);

  const note = (direction: Line["direction"], message: Message): void => {
    const wire = JSON.parse(encodeMessage(message)) as Json;
    const shown = maskMembers(wire, masked);
    if (isObject(shown)) lines.push({ direction, message: shown });
  };

  return {
    incoming: tap(channel.incoming, (incoming) => {
      if (incoming.kind !== "malformed" && incoming.kind !== "batch") note("<", incoming);
    }),
    send(message) {
      note(">", message);
      return channel.send(message);
    },
    close: channel.close,
    lines,
    toText: () => lines.map(({ direction, message }) => `${direction} ${JSON.stringify(message)}\n`).join(""),
  };
}

/** Reads a transcript back from its text. Throws when a line is none. */
export function parseTranscript(text: string): readonly Line[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => {
      const direction = line[0];
      const message = JSON.parse(line.slice(1)) as Json;
      if ((direction !== ">" && direction !== "<") || !isObject(message)) throw new Error(`not a line: ${line}`);
      return { direction, message };
    });
}

/** The first line in which two transcripts differ, or undefined when they are equal. */
export function firstDifference(
  actual: readonly Line[],
  expected: readonly Line[],
): { readonly index: number; readonly actual: Line | undefined; readonly expected: Line | undefined } | undefined {
  const length = Math.max(actual.length, expected.length);
  for (let index = 0; index < length; index++) {
    const pair = { index, actual: actual[index], expected: expected[index] };
    if (JSON.stringify(pair.actual) !== JSON.stringify(pair.expected)) return pair;
  }
  return undefined;
}

async function* tap(source: Channel["incoming"], see: (incoming: Incoming) => void) {
  for await (const batch of source) {
    for (const incoming of batch) see(incoming);
    yield batch;
  }
}

function maskMembers(value: Json, names: ReadonlySet<string>): Json {
  if (Array.isArray(value)) return value.map((item: Json) => maskMembers(item, names));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      names.has(key) ? `<${key}>` : maskMembers(member ?? null, names),
    ]),
  );
}
