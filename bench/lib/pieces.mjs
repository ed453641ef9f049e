import { Transform } from "node:stream";

/** Has this process see its stdin in pieces of so many bytes, however they arrive. */
export function cutStdin(size) {
  const cutter = new Transform({
    readableHighWaterMark: size,
    transform(chunk, _encoding, done) {
      for (let start = 0; start < chunk.length; start += size) this.push(chunk.subarray(start, start + size));
      done();
    },
  });
  const stdin = process.stdin.pipe(cutter);
  Object.defineProperty(process, "stdin", { value: stdin, configurable: true });
}
