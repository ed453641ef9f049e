import { once } from "node:events";
import type { Json, JsonObject } from "../../../src/json/json.ts";
import { createLog, type Log } from "./events.ts";
import type { Program } from "./places.ts";
import { type Running, start, textOf } from "./run.ts";

/** Whatever stands for an id on the wire. */
export type WireId = string | number | null;

/** A server as a child, spoken to line by line, by somebody who need not be polite. */
export interface RawPeer extends Running {
  /** Every message it has said, in order. */
  readonly heard: Log<JsonObject>;
  stderr(): string;
  /** Writes bytes as they are. Resolves when they are on their way. */
  write(bytes: string | Uint8Array): Promise<void>;
  /** Writes one line. */
  send(message: Json): Promise<void>;
  /** Sends a request under an id of its own and gives the whole answer. */
  request(method: string, params?: JsonObject): Promise<JsonObject>;
  /** Calls a tool and gives the text of its result. */
  call(tool: string, args?: JsonObject): Promise<string>;
  /** Resolves with the next answer to this id that nobody has waited for yet. */
  answer(id: WireId): Promise<JsonObject>;
}

/** Starts a server without opening a session. */
export async function startRaw(program: Program): Promise<RawPeer> {
  const running = await start(program);
  const { child, ended } = running;
  const heard = createLog<JsonObject>();
  const taken = new Set<JsonObject>();
  let nextId = 1;

  readLines(child.stdout, (line) => heard.add(JSON.parse(line)));
  const stderr = textOf(child.stderr);
  const gone = ended.then(({ code, signal }): never => {
    throw new Error(`the server ended with ${code ?? signal} instead of answering; stderr: ${stderr()}`);
  });
  gone.catch(() => {});

  const write = async (bytes: string | Uint8Array): Promise<void> => {
    if (!child.stdin.write(bytes)) await Promise.race([once(child.stdin, "drain"), gone]);
  };
  const send = (message: Json): Promise<void> => write(`${JSON.stringify(message)}\n`);

  const answer = async (id: WireId): Promise<JsonObject> => {
    const fits = (message: JsonObject) => message.id === id && message.method === undefined && !taken.has(message);
    const message = heard.items.find(fits) ?? (await Promise.race([heard.find(fits), gone]));
    taken.add(message);
    return message;
  };

  const request = async (method: string, params: JsonObject = {}): Promise<JsonObject> => {
    const id = `r${nextId++}`;
    await send({ jsonrpc: "2.0", id, method, params });
    return answer(id);
  };

  return {
    ...running,
    heard,
    stderr,
    write,
    send,
    request,
    answer,
    call: async (name, args = {}) => textOfResult(await request("tools/call", { name, arguments: args })),
  };
}

/** Starts a server and opens a legacy session. */
export async function openRaw(program: Program, protocolVersion = "2025-11-25"): Promise<RawPeer> {
  const peer = await startRaw(program);
  await peer.request("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "0" } });
  await peer.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return peer;
}

/** The texts in the result of a tool, joined. */
export function textOfResult({ result }: JsonObject): string {
  const { content } = result as { content: readonly { text?: string }[] };
  return content.map(({ text = "" }) => text).join("");
}

function readLines(stream: NodeJS.ReadableStream, take: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    rest += chunk;
    if (!chunk.includes("\n")) return;
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  });
}
