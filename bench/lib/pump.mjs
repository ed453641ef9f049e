/**
 * Calls `add` for about `ms` milliseconds with so many calls in flight, and checks
 * every answer. `call(a, b)` gives the text of the result.
 */
export async function pump(call, inFlight, ms) {
  const before = process.cpuUsage();
  const start = performance.now();
  let calls = 0;
  let over = false;

  const worker = async () => {
    while (!over) {
      const a = ++calls;
      const text = await call(a, 1);
      if (text !== `${a + 1}`) throw new Error(`${a} + 1 = ${text}`);
      // The clock is not read for every call: some take less time than that.
      if ((a & 15) === 0) over ||= performance.now() - start >= ms;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  const { user, system } = process.cpuUsage(before);
  return { calls, ms: performance.now() - start, cpu: user + system };
}
