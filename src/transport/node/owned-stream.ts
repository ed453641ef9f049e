import { Writable } from "node:stream";

/** A stream that only its owner can write to. */
export interface OwnedStream {
  /** The owner's way in. Ending it leaves the stream itself open. */
  readonly writable: Writable;
  /** Makes the stream what it was. */
  release(): void;
}

type Done = (error?: Error | null) => void;

/**
 * Takes a stream over: whatever anybody else writes to it goes to `diversion`.
 *
 * Catches `console.log` and every other `write` in this process. What bypasses
 * the stream, such as `fs.writeSync(1, …)` or a child that inherits the file
 * descriptor, cannot be caught.
 */
export function ownStream(stream: Writable, diversion: Writable): OwnedStream {
  const write = stream.write;
  const divert = (chunk: unknown, encoding?: BufferEncoding | Done, done?: Done): boolean => {
    if (typeof encoding === "string") diversion.write(chunk, encoding, done);
    else diversion.write(chunk, encoding);
    // Whoever is told to wait would wait for a `drain` of the wrong stream.
    return true;
  };
  const writable = new Writable({
    decodeStrings: false,
    write: (chunk, encoding, done) => write.call(stream, chunk, encoding, done),
  });
  const onError = (error: Error): void => {
    writable.destroy(error);
  };

  stream.write = divert;
  stream.on("error", onError);
  return {
    writable,
    release() {
      if (stream.write === divert) stream.write = write;
      stream.off("error", onError);
    },
  };
}
