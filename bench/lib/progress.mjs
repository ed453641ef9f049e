/** Shows on stderr what is being done: one line that changes on a terminal, one line for each cell elsewhere. */
export function createProgress(total) {
  const { stderr } = process;
  let done = 0;
  const show = (text) => {
    if (stderr.isTTY) stderr.write(`\r\x1b[K${text.slice(0, (stderr.columns ?? 80) - 1)}`);
  };
  const clear = () => show("");
  return {
    next(name) {
      const place = `[${++done}/${total}] ${name}`;
      if (!stderr.isTTY) stderr.write(`${place}\n`);
      return (step) => show(`${place}: ${step}`);
    },
    clear,
    end: clear,
  };
}
