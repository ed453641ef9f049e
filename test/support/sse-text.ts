import type { JsonObject } from "../../src/json/json.ts";

/** One block of a stream of events, read by the letter. */
export interface SseBlock {
  readonly id?: string;
  readonly event?: string;
  readonly retry?: number;
  /** Absent where the block has no data, or an empty one. */
  readonly message?: JsonObject;
  /** The data as text, where it is no JSON. */
  readonly data?: string;
  readonly comment?: string;
}

/** Reads whole blocks. Deliberately not the parser of the package: a fault in one must not hide in the other. */
export function readBlocks(text: string): readonly SseBlock[] {
  const blocks = text.split("\n\n");
  if (blocks.pop() !== "") throw new Error(`a block does not end: ${JSON.stringify(text)}`);
  return blocks.map(readBlock);
}

function readBlock(block: string): SseBlock {
  const fields = block.split("\n").map((line): SseBlock => {
    const [, name = "", value = ""] = /^([a-z]*): (.*)$/.exec(line) ?? [];
    if (name === "") return { comment: value };
    if (name === "id") return { id: value };
    if (name === "event") return { event: value };
    if (name === "retry") return { retry: Number(value) };
    if (name !== "data") throw new Error(`no field of an event: ${JSON.stringify(line)}`);
    if (value === "") return {};
    return value.startsWith("{") ? { message: JSON.parse(value) } : { data: value };
  });
  return Object.assign({}, ...fields);
}

/** The messages among the blocks. */
export function messagesIn(text: string): readonly JsonObject[] {
  return readBlocks(text).flatMap(({ message }) => (message === undefined ? [] : [message]));
}
