/** Splits chunks into lines in linear time: parts of a line are joined once, when it ends. */
export function lineSplitter(onLine) {
  let parts = [];
  return (chunk) => {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      if (end < 0) break;
      const part = chunk.subarray(start, end);
      const line = parts.length === 0 ? part : Buffer.concat([...parts, part]);
      parts = [];
      start = end + 1;
      onLine(line.utf8Slice(0, line.length));
    }
    if (start < chunk.length) parts.push(start === 0 ? chunk : chunk.subarray(start));
  };
}
