/** Counts how long calls took, in bounded memory: every value is kept to within one percent. */
export interface Latencies {
  readonly count: number;
  readonly meanMs: number;
  readonly minMs: number;
  readonly maxMs: number;
  add(ms: number): void;
  /** The time that this part of all calls took at most. 0 without calls. */
  percentile(part: number): number;
}

const step = Math.log(1.01);
/** Calls that take less than a microsecond are all the same. */
const smallestMs = 0.001;
/** Up to an hour. */
const size = Math.ceil(Math.log(3_600_000 / smallestMs) / step) + 1;

export function createLatencies(): Latencies {
  const counts = new Float64Array(size);
  let [count, sum, min, max] = [0, 0, Number.POSITIVE_INFINITY, 0];

  return {
    get count() {
      return count;
    },
    get meanMs() {
      return count === 0 ? 0 : sum / count;
    },
    get minMs() {
      return count === 0 ? 0 : min;
    },
    get maxMs() {
      return max;
    },
    add(ms) {
      const at = Math.floor(Math.log(Math.max(ms, smallestMs) / smallestMs) / step);
      counts[Math.min(at, size - 1)] = (counts[Math.min(at, size - 1)] ?? 0) + 1;
      count++;
      sum += ms;
      min = Math.min(min, ms);
      max = Math.max(max, ms);
    },
    percentile(part) {
      let left = Math.ceil(count * part);
      if (left === 0) return 0;
      const at = counts.findIndex((found) => {
        left -= found;
        return left <= 0;
      });
      return Math.min(max, Math.max(min, smallestMs * Math.exp((at + 0.5) * step)));
    },
  };
}
