import { connect } from "node:net";
import { add, initialize, initialized, isSum, LEGACY, MODERN } from "./messages.mjs";

/**
 * Load on an HTTP server over raw sockets, one request in flight on each: `node:http`
 * or `fetch` would cost more than the servers that are measured. Status and body
 * of every answer are checked.
 */
export async function openLoad({
  port,
  mode,
  connections,
  body = add,
  check = isSum,
  method = "tools/call",
  headers = "",
  name = "add",
}) {
  const era = mode === "modern" ? "modern" : "legacy";
  const open = () => openConnection({ port, mode, method, headers, name });
  const opened = await Promise.all(Array.from({ length: connections }, open));
  let nextId = 1;

  return {
    /** Sends requests for about `ms` milliseconds, or `count` of them. */
    async run({ ms = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY }) {
      const start = performance.now();
      let calls = 0;
      const work = async (connection) => {
        while (calls < count && performance.now() - start < ms) {
          const id = nextId++;
          calls++;
          const text = await connection.post(body(id, era));
          if (!check(text, id)) throw new Error(`the answer to request ${id} is wrong: ${text.slice(0, 500)}`);
        }
      };
      await Promise.all(opened.map(work));
      return { calls, ms: performance.now() - start };
    },
    close: () => opened.forEach((connection) => void connection.close()),
  };
}

const common = (port, headers = "") =>
  `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n` +
  `accept: application/json, text/event-stream\r\n${headers}`;

/** A connection on which requests can be made; with a session of its own where there are any. */
async function openConnection({ port, mode, method, headers, name: tool }) {
  const socket = await openSocket(port);
  const head = common(port, headers);
  const plain = `${head}mcp-protocol-version: ${LEGACY}\r\n`;
  const name = method === "tools/call" ? `mcp-name: ${tool}\r\n` : "";
  const heads = {
    modern: `${head}mcp-protocol-version: ${MODERN}\r\nmcp-method: ${method}\r\n${name}`,
    stateless: plain,
    session: plain,
  };
  if (mode === "session") heads.session += `mcp-session-id: ${await openSession(socket, port, headers)}\r\n`;
  return { post: async (body) => (await socket.post(heads[mode], body)).body, close: socket.close };
}

/** Opens a session on a connection and gives its id. */
export async function openSession(socket, port, headers) {
  const head = common(port, headers);
  const welcome = await socket.post(head, initialize(0));
  const id = /^mcp-session-id: *(.*)\r$/im.exec(welcome.head)?.[1];
  if (id === undefined) throw new Error(`no session: ${welcome.head}`);
  const plain = `${head}mcp-protocol-version: ${LEGACY}\r\nmcp-session-id: ${id}\r\n`;
  await socket.post(plain, initialized);
  return id;
}

/** One HTTP/1.1 exchange at a time. Servers close connections that are idle for long; then it goes on over another one. */
export async function openSocket(port) {
  let connection = await openConnected(port);
  return {
    async post(head, body) {
      if (connection.isOver()) connection = await openConnected(port);
      return connection.post(head, body);
    },
    close: () => connection.close(),
  };
}

function openConnected(port) {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let text = "";
  let waiting;

  socket.setEncoding("latin1");
  socket.on("data", (chunk) => {
    text = text === "" ? chunk : text + chunk;
    const answer = readResponse(text);
    if (answer === undefined) return;
    text = "";
    const { resolve, reject } = waiting;
    if (answer.ok) resolve(answer);
    else reject(new Error(`refused: ${answer.head}\n${answer.body.slice(0, 1000)}`));
  });
  const fail = (error) => waiting?.reject(error ?? new Error(`the server closed a connection: ${text.slice(0, 500)}`));
  socket.on("error", fail).on("close", () => fail());

  return new Promise((resolve, reject) => {
    waiting = { resolve, reject };
    socket.once("connect", () =>
      resolve({
        isOver: () => socket.destroyed || socket.readableEnded,
        post: (head, body) =>
          new Promise((resolve, reject) => {
            waiting = { resolve, reject };
            socket.write(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
          }),
        close: () => {
          waiting = undefined;
          socket.destroy();
        },
      }),
    );
  });
}

/** A response when it is complete. Nothing follows it: the next request has not been sent yet. */
function readResponse(text) {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const head = text.slice(0, end + 2);
  const ok = head.startsWith("HTTP/1.1 200") || head.startsWith("HTTP/1.1 202");
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    return text.length >= end + 4 + Number(length) ? { ok, head, body: text.slice(end + 4) } : undefined;
  }
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    return text.endsWith("0\r\n\r\n") ? { ok, head, body: text.slice(end + 4) } : undefined;
  }
  return { ok, head, body: "" };
}
