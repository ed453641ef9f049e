import { setTimeout as pause } from "node:timers/promises";

/** Runs `work(n)` up to `count` times, `width` at once, until one returns `false` or the time is up. Resolves with how many ran. */
export async function upTo(count, width, timeLimitMs, work) {
  const end = performance.now() + timeLimitMs;
  let next = 0;
  let isOver = false;
  const lane = async () => {
    while (!isOver && next < count && performance.now() < end) {
      if ((await work(next++)) === false) isOver = true;
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return next;
}

/** Resolves with whether the condition came true in time. */
export async function until(condition, timeLimitMs) {
  const end = performance.now() + timeLimitMs;
  while (!condition()) {
    if (performance.now() > end) return false;
    await pause(20);
  }
  return true;
}

/** Writes until all is written, the other end has closed, or it has taken nothing for `stallMs`. Resolves with the bytes it took. */
export async function push(socket, chunk, count, stallMs = 1_000) {
  let taken = 0;
  for (let n = 0; n < count && !socket.destroyed && socket.writable; n++) {
    const isTaken = await new Promise((resolve) => {
      const settle = (done) => {
        clearTimeout(timer);
        socket.off("close", lost);
        resolve(done);
      };
      const lost = () => settle(false);
      const timer = setTimeout(lost, stallMs);
      socket.once("close", lost);
      socket.write(chunk, (error) => settle(!error));
    });
    if (!isTaken) break;
    taken += chunk.length;
  }
  return taken;
}
