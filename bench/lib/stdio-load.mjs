import { lineSplitter } from "./line-splitter.mjs";
import { add, initialize, initialized, isSum, request } from "./messages.mjs";

/** Load on a server over its pipes: so many calls in flight, and those of a turn in one write. */
export async function openStdioLoad(child) {
  let onLine;
  const split = lineSplitter((line) => onLine(line));
  child.stdout.on("data", (chunk) => {
    split(chunk);
    flush();
  });
  let out = "";
  const flush = () => {
    if (out !== "") child.stdin.write(out);
    out = "";
  };
  let nextId = 1;

  /** Has `start(done, fail)` run until it says so, or the child is gone. */
  const until = (start) =>
    new Promise((resolve, reject) => {
      child.onLost(reject);
      start(resolve, reject);
    });

  /** Writes lines, waits for one answer, and gives it. */
  const exchange = (write) =>
    until((resolve) => {
      onLine = (line) => line.includes('"id"') && resolve(line);
      write();
    });

  await exchange(() => child.stdin.write(`${initialize(0)}\n`));
  child.stdin.write(`${initialized}\n`);

  return {
    /** Calls `add` for about `ms` milliseconds. */
    run({ ms, inFlight }) {
      const start = performance.now();
      let [calls, open] = [0, 0];
      return until((resolve, reject) => {
        const send = () => {
          open++;
          out += `${add(nextId++, "legacy")}\n`;
        };
        onLine = (line) => {
          const id = Number(/"id":(\d+)/.exec(line)?.[1]);
          if (!isSum(line, id)) return reject(new Error(`a wrong answer: ${line.slice(0, 500)}`));
          calls++;
          open--;
          if (performance.now() - start < ms) send();
          else if (open === 0) resolve({ calls, ms: performance.now() - start });
        };
        for (let call = 0; call < inFlight; call++) send();
        flush();
      });
    },

    /** Asks for texts of this size for about `ms` milliseconds, one after the other. */
    async fetchBlobs({ size, ms }) {
      const start = performance.now();
      let calls = 0;
      do {
        const id = nextId++;
        const text = request(id, "tools/call", { name: "blob", arguments: { size } });
        const line = await exchange(() => child.stdin.write(`${text}\n`));
        if (!isBlob(line, id, size)) throw new Error(`a wrong answer: ${line.slice(0, 500)}`);
        calls++;
      } while (performance.now() - start < ms);
      return { calls, ms: performance.now() - start };
    },

    /** Sends one long request. */
    async sendLong({ size }) {
      const id = nextId++;
      const text = request(id, "tools/call", { name: "measure", arguments: { text: "x".repeat(size) } });
      const start = performance.now();
      const line = await exchange(() => child.stdin.write(`${text}\n`));
      if (!line.includes(`"text":"${size}"`)) throw new Error(`a wrong answer: ${line.slice(0, 500)}`);
      return { calls: 1, ms: performance.now() - start };
    },
  };
}

/** Whether a line is a response of this id that holds a text of this size. Its ends are all that is looked at. */
function isBlob(line, id, size) {
  return line.length > size && (line.slice(0, 200) + line.slice(-200)).includes(`"id":${id}`);
}
