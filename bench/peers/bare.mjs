// The limit: what the platform costs without any library.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createBareAnswer } from "../lib/bare-answer.mjs";
import { bareHttpClient, bareStdioClient } from "../lib/bare-client.mjs";
import { lineSplitter } from "../lib/line-splitter.mjs";
import { listen } from "../lib/listen.mjs";
import { pump } from "../lib/pump.mjs";

const eventHead = { "content-type": "text/event-stream", "cache-control": "no-cache" };

export async function http({ mode, answer, tools }) {
  const take = createBareAnswer(tools);
  const sessions = new Map();

  const reply = (response, message, headers) => {
    const text = JSON.stringify(message);
    if (answer === "sse") {
      const body = `event: message\ndata: ${text}\n\n`;
      response.writeHead(200, { ...eventHead, "content-length": Buffer.byteLength(body), ...headers }).end(body);
    } else {
      const length = Buffer.byteLength(text);
      response.writeHead(200, { "content-type": "application/json", "content-length": length, ...headers }).end(text);
    }
  };
  const post = (request, response, body) => {
    const message = JSON.parse(body);
    if (mode === "session" && message.method === "initialize") {
      const id = randomUUID();
      sessions.set(id, { stream: undefined });
      return reply(response, take(message), { "mcp-session-id": id });
    }
    if (mode === "session" && !sessions.has(request.headers["mcp-session-id"])) return response.writeHead(404).end();
    const value = take(message);
    return value === undefined ? response.writeHead(202).end() : reply(response, value);
  };
  const get = (request, response) => {
    const session = sessions.get(request.headers["mcp-session-id"]);
    if (session === undefined || answer === "json") return response.writeHead(405).end();
    session.stream = response.writeHead(200, eventHead);
    response.flushHeaders();
  };
  const server = createServer((request, response) => {
    if (request.method === "GET") return get(request, response);
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => post(request, response, body));
  });
  return {
    facts: { port: await listen(server) },
    broadcast() {
      const event = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
      for (const { stream } of sessions.values()) stream?.write(event);
    },
  };
}

/** Lines in, lines out: all answers to one chunk in one write. */
export function stdio() {
  const take = createBareAnswer();
  let out = "";
  const split = lineSplitter((line) => {
    const answer = take(JSON.parse(line));
    if (answer !== undefined) out += `${JSON.stringify(answer)}\n`;
  });
  process.stdin.on("data", (chunk) => {
    split(chunk);
    if (out !== "") process.stdout.write(out);
    out = "";
  });
}

/** Messages handed over by reference, and a table of who waits: the least that is still a protocol. */
export function inProcess() {
  const take = createBareAnswer();
  const waiting = new Map();
  const deliver = (answer) => {
    const resolve = waiting.get(answer.id);
    waiting.delete(answer.id);
    resolve(answer.result);
  };
  const call = (a, b) => {
    const message = { jsonrpc: "2.0", id: a, method: "tools/call", params: { name: "add", arguments: { a, b } } };
    const result = new Promise((resolve) => waiting.set(a, resolve));
    queueMicrotask(() => deliver(take(message)));
    return result.then(({ content }) => content[0].text);
  };
  return { pump: (inFlight, ms) => pump(call, inFlight, ms) };
}

export async function httpClient({ url }) {
  const call = await bareHttpClient(url);
  return { pump: (inFlight, ms) => pump(call, inFlight, ms) };
}

export function stdioClient({ command }) {
  const call = bareStdioClient(command);
  return { pump: (inFlight, ms) => pump(call, inFlight, ms) };
}
