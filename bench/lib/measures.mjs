// What is measured: the key of its values, how a table calls it, and whether less or more of it is better.

/** Of cells that are sampled: processor time for one call, in microseconds, and calls in a second. */
export function cpuAndRate(whose) {
  return [
    { key: "cpu", label: `${whose} CPU, ms per 1,000 calls`, better: "less" },
    { key: "rate", label: "calls/s", better: "more" },
  ];
}

/** One measure of something that should be small. */
export const cost = (key, label) => ({ key, label, better: "less" });
