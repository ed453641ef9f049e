import { isObject, type Json } from "../../json/json.ts";
import { parseJson } from "../../json/parse.ts";
import type { Channel } from "../../jsonrpc/channel.ts";
import { encodeMessage, type Incoming, type Message } from "../../jsonrpc/message.ts";
import { createSseParser } from "../../std/sse.ts";
import type { Recorder } from "./recorder.ts";
import type { Sender } from "./recording.ts";

/** A channel whose messages are recorded on their way. */
export function recordChannel(channel: Channel, recorder: Recorder): Channel {
  return {
    ...channel,
    incoming: tapIncoming(channel.incoming, recorder),
    send(message) {
      recorder.message("client", toWire(message));
      return channel.send(message);
    },
  };
}

async function* tapIncoming(
  incoming: AsyncIterable<readonly Incoming[]>,
  recorder: Recorder,
): AsyncGenerator<readonly Incoming[]> {
  for await (const messages of incoming) {
    for (const message of messages) recordIncoming(message, recorder);
    yield messages;
  }
}

function recordIncoming(incoming: Incoming, recorder: Recorder): void {
  if (incoming.kind === "malformed") recorder.line("server", incoming.error.message);
  else if (incoming.kind === "batch") for (const one of incoming.items) recordIncoming(one, recorder);
  else if (incoming.kind !== "undelivered") recorder.message("server", toWire(incoming));
}

function toWire(message: Message): Json {
  return JSON.parse(encodeMessage(message)) as Json;
}

/** `fetch` whose JSON-RPC messages are recorded. Other bodies, such as those of a sign-in, are not. */
export function recordFetch(recorder: Recorder): typeof fetch {
  return async (input, init) => {
    if (typeof init?.body === "string") recordText("client", init.body, recorder);
    const response = await fetch(input, init);
    const { body, headers, status, statusText } = response;
    const type = headers.get("content-type") ?? "";
    if (body === null || !/^(?:application\/json|text\/event-stream)/i.test(type)) return response;
    const tap = type.toLowerCase().startsWith("text/event-stream") ? tapEvents(recorder) : tapBody(recorder);
    const tapped = new Response(body.pipeThrough(tap), { headers, status, statusText });
    // A new response knows nothing of redirects.
    Object.defineProperties(tapped, { url: { value: response.url }, redirected: { value: response.redirected } });
    return tapped;
  };
}

function tapEvents(recorder: Recorder): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const parser = createSseParser();
  return new TransformStream({
    transform(chunk, controller) {
      for (const item of parser.push(chunk)) if (item.kind === "event") recordText("server", item.data, recorder);
      controller.enqueue(chunk);
    },
  });
}

/** More of one body is passed on and not recorded. */
const maxBodyBytes = 67_108_864;

function tapBody(recorder: Recorder): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes <= maxBodyBytes) chunks.push(chunk);
      controller.enqueue(chunk);
    },
    flush() {
      if (bytes <= maxBodyBytes) recordText("server", Buffer.concat(chunks).toString("utf8"), recorder);
      else recorder.line("server", `a body of ${bytes} bytes, which is too long to be recorded`);
    },
  });
}

function recordText(from: Sender, text: string, recorder: Recorder): void {
  const parsed = parseJson(text, { maxJsonDepth: 200, maxJsonNodes: 1_000_000 });
  if (!parsed.ok) return;
  for (const one of [parsed.value].flat()) {
    if (isObject(one) && one.jsonrpc === "2.0") recorder.message(from, one);
  }
}
