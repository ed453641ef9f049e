import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";

/** Bytes of an answer that are kept: the server is not to take our memory either. */
const MAX_KEPT = 8 * 1024 * 1024;

/**
 * Requests to one URL, as one principal. Nothing here knows MCP but for the
 * headers that every request needs, and nothing ever rejects: what went wrong is
 * an answer with status 0.
 */
export function createWire(url, { headers: own = {}, localAddress } = {}) {
  const target = new URL(url);
  const isTls = target.protocol === "https:";
  const port = Number(target.port || (isTls ? 443 : 80));
  const hostname = target.hostname.replace(/^\[|\]$/g, "");
  const path = `${target.pathname}${target.search}`;
  const send = isTls ? httpsRequest : httpRequest;

  const start = ({ method = "POST", headers = {}, path: other = path, anonymous = false }) => {
    const usual = {
      accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
      ...(method === "POST" && { "content-type": "application/json" }),
    };
    const all = { ...usual, ...(anonymous ? {} : own), ...headers };
    const known = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    return send({ host: hostname, port, method, path: other, headers: known, agent: false, localAddress });
  };

  return {
    url: target,
    path,
    headers: own,

    /** One request and its whole answer. `timeoutMs` is for all of it. */
    request({ body, timeoutMs = 10_000, ...rest } = {}) {
      return new Promise((resolve) => {
        let sent;
        try {
          sent = start(rest);
        } catch (error) {
          return resolve({ status: 0, headers: {}, text: "", messages: [], failure: error.code ?? error.message });
        }
        const answer = { status: 0, headers: {}, text: "", messages: [] };
        const done = (failure) => {
          clearTimeout(timer);
          sent.destroy();
          answer.messages = messagesIn(answer);
          resolve(failure === undefined ? answer : { ...answer, failure });
        };
        const timer = setTimeout(done, timeoutMs, "timeout");
        sent.on("response", (response) => {
          answer.status = response.statusCode;
          answer.headers = response.headers;
          response.setEncoding("utf8");
          response.on("data", (chunk) => {
            if (answer.text.length < MAX_KEPT) answer.text += chunk;
          });
          response.on("end", () => done());
          response.on("error", (error) => done(error.code));
        });
        sent.on("error", (error) => done(error.code ?? error.message));
        sent.end(body);
      });
    },

    /** A request whose answer is read as it comes. `messages` grows; `find` waits for one of them. */
    stream({ body, ...rest } = {}) {
      return new Promise((resolve) => {
        const sent = start(rest);
        const stream = createStream(sent);
        sent.on("response", (response) => {
          stream.status = response.statusCode;
          stream.headers = response.headers;
          response.setEncoding("utf8");
          response.on("data", (chunk) => stream.take(chunk));
          response.on("end", () => stream.end());
          response.on("error", () => stream.end());
          resolve(stream);
        });
        sent.on("error", () => {
          stream.end();
          resolve(stream);
        });
        sent.end(body);
      });
    },

    /** A bare connection. */
    socket() {
      return new Promise((resolve) => {
        const options = { host: hostname, port, localAddress, servername: hostname };
        const socket = isTls ? connectTls(options) : connectTcp(options);
        const raw = { socket, text: "", isClosed: false };
        socket.on("data", (chunk) => {
          if (raw.text.length < MAX_KEPT) raw.text += chunk.toString("latin1");
        });
        socket.on("error", () => {});
        socket.on("close", () => {
          raw.isClosed = true;
          resolve(raw);
        });
        socket.on(isTls ? "secureConnect" : "connect", () => resolve(raw));
      });
    },

    /** The head of a request as text, for bare connections. A header of several values is written several times. */
    head({ method = "POST", headers = {}, path: other = path, end = "\r\n" } = {}) {
      const usual = {
        host: target.host,
        accept: "application/json, text/event-stream",
        ...(method === "POST" && { "content-type": "application/json" }),
      };
      const lines = Object.entries({ ...usual, ...own, ...headers }).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value]).flatMap((one) => (one === undefined ? [] : [`${name}: ${one}`])),
      );
      return [`${method} ${other} HTTP/1.1`, ...lines, "", ""].join(end);
    },
  };
}

/** Messages of a stream of events, or the one of a JSON body, as they come. */
function createStream(sent) {
  const checks = new Set();
  let rest = "";
  let size = 0;
  const stream = {
    status: 0,
    headers: {},
    text: "",
    messages: [],
    ids: [],
    isOver: false,
    take(chunk) {
      size += chunk.length;
      if (size > MAX_KEPT) return;
      stream.text += chunk;
      rest += chunk;
      const end = rest.lastIndexOf("\n\n");
      if (end < 0) return;
      const { messages, ids } = eventsIn(rest.slice(0, end));
      rest = rest.slice(end + 2);
      stream.messages.push(...messages);
      stream.ids.push(...ids);
      for (const check of checks) check();
    },
    end() {
      if (!stream.isOver && stream.messages.length === 0) stream.messages.push(...messagesIn(stream));
      stream.isOver = true;
      for (const check of checks) check();
    },
    /** Undefined when the time is up, or the stream over, before there is one. */
    find(fits, timeoutMs = 5_000) {
      return new Promise((resolve) => {
        const done = (found) => {
          clearTimeout(timer);
          checks.delete(check);
          resolve(found);
        };
        const check = () => {
          const found = stream.messages.find(fits);
          if (found !== undefined || stream.isOver) done(found);
        };
        const timer = setTimeout(done, timeoutMs);
        checks.add(check);
        check();
      });
    },
    close: () => sent.destroy(),
  };
  return stream;
}

/** What an answer holds, be it JSON or events. What is neither is no message. */
function messagesIn({ text, headers }) {
  if (String(headers["content-type"]).includes("text/event-stream")) return eventsIn(text).messages;
  const value = parsed(text);
  if (Array.isArray(value)) return value;
  return value === undefined ? [] : [value];
}

function eventsIn(text) {
  const messages = [];
  const ids = [];
  for (const block of text.split("\n\n")) {
    const lines = block.split("\n");
    const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
    const id = lines
      .find((line) => line.startsWith("id:"))
      ?.slice(3)
      .trim();
    if (id !== undefined) ids.push(id);
    const value = parsed(data.join("\n"));
    if (value !== undefined) messages.push(value);
  }
  return { messages, ids };
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
