/** The value at a share of the sorted values, interpolated. */
export function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  const high = Math.ceil(place);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

export const median = (values) => quantile(values, 0.5);

/** The middle of some values and how far its quarters lie apart, as a share of it. */
export function summary(values) {
  const middle = median(values);
  const spread = middle === 0 ? 0 : (quantile(values, 0.75) - quantile(values, 0.25)) / middle;
  return { median: middle, iqr: spread, n: values.length };
}

/** The same for the ratios of values that were taken in the same round: drift of the machine cancels out. */
export function ratio(values, others) {
  return summary(values.map((value, round) => value / others[round]));
}
