/**
 * Begins to measure, and gives what reads it: milliseconds that this process has worked since.
 * The time that passes would also grow while others have the processor.
 */
export function startCpuTime(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
}
