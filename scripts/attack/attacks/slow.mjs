import { setTimeout as pause } from "node:timers/promises";
import { modernHeaders } from "../messages.mjs";
import { gotThrough, held } from "../verdicts.mjs";

const CONNECTIONS = 30;

/** Requests that never end. A server has to give up on them by itself. */
export const slowAttacks = [
  {
    id: "slow-heads",
    covers: ["V24"],
    title: "sends the head of a request one byte at a time",
    run: ({ first }) => dribble(first, `${first.wire.head().trimEnd()}\r\nx-slow: `, 40_000),
  },
  {
    id: "slow-bodies",
    covers: ["V24"],
    title: "sends the body of a request one byte at a time",
    run: ({ first }) =>
      dribble(
        first,
        first.wire.head({ headers: { ...modernHeaders("tools/list"), "content-length": 100_000 } }),
        90_000,
      ),
  },
];

/** Begins requests, adds a byte a second, and waits until the server has closed all of them. */
async function dribble({ wire }, begin, limitMs) {
  const opened = await Promise.all(Array.from({ length: CONNECTIONS }, () => wire.socket()));
  const start = performance.now();
  for (const { socket } of opened) socket.write(begin);
  const open = () => opened.filter(({ isClosed, text }) => !isClosed && !text.startsWith("HTTP/")).length;
  while (open() > 0 && performance.now() - start < limitMs) {
    await pause(1_000);
    for (const { socket } of opened) if (socket.writable) socket.write("x");
  }
  const left = open();
  for (const { socket } of opened) socket.destroy();
  const seconds = Math.round((performance.now() - start) / 1_000);
  return left > 0
    ? gotThrough(`${left} of ${CONNECTIONS} connections were still open after ${seconds} s`)
    : held(`all ${CONNECTIONS} connections were ended within ${seconds} s`);
}
