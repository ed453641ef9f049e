// Holds sessions and their streams open. A process of its own for each server: they are many sockets.
import { connect } from "node:net";
import { openSession, openSocket } from "../lib/http-load.mjs";
import { LEGACY } from "../lib/messages.mjs";

const OPENERS = 64;

export function sessions({ port }) {
  const ids = [];
  const streams = [];
  let missing = 0;
  let allHeard;

  const heard = () => {
    if (--missing === 0) allHeard();
  };

  return {
    /** Opens sessions until there are `count`, and leaves them alone. */
    async open(count) {
      const opener = async () => {
        const socket = await openSocket(port);
        while (ids.length + opening < count) {
          opening++;
          ids.push(await openSession(socket, port));
          opening--;
        }
        socket.close();
      };
      let opening = 0;
      await Promise.all(Array.from({ length: OPENERS }, opener));
    },
    /** Opens the stream of every session. */
    async stream() {
      const waiting = [...ids];
      const opener = async () => {
        for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
          streams.push(await openStream(port, id, heard));
        }
      };
      await Promise.all(Array.from({ length: OPENERS }, opener));
      return streams.length;
    },
    /** Gets ready to hear one event on every stream. `heard` tells when that was. */
    expect() {
      missing = streams.length;
      const done = new Promise((resolve) => {
        allHeard = resolve;
      });
      pending = done.then(() => performance.timeOrigin + performance.now());
    },
    heard: () => pending,
  };
}

let pending;

/** Resolves when the stream is open. `onEvent` is called for every list that has changed. */
function openStream(port, id, onEvent) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let open = false;
    let kept = "";
    socket.setEncoding("latin1");
    socket.on("data", (text) => {
      if (!open) {
        if (!text.startsWith("HTTP/1.1 200")) return reject(new Error(`no stream: ${text}`));
        open = true;
        resolve(socket);
      }
      kept += text;
      for (let at = kept.indexOf(EVENT); at >= 0; at = kept.indexOf(EVENT)) {
        kept = kept.slice(at + EVENT.length);
        onEvent();
      }
      kept = kept.slice(-EVENT.length);
    });
    socket.on("error", reject);
    socket.write(
      `GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n` +
        `mcp-protocol-version: ${LEGACY}\r\nmcp-session-id: ${id}\r\n\r\n`,
    );
  });
}

const EVENT = "notifications/tools/list_changed";
