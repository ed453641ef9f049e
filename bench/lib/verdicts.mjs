import { ratio } from "./stats.mjs";

/** What became of each limit: `met`, `missed`, or `not measured`. */
export function verdictsOf(targets, results) {
  return targets.flatMap(({ title, limits }) => limits.map((limit) => ({ title, ...judge(limit, results) })));
}

function judge(limit, results) {
  const { cell, key, against, peer = "plugbay" } = limit;
  const result = results.find(({ name }) => name === cell);
  const [ours, others] = [result?.samples[peer]?.[key], result?.samples[against]?.[key]];
  if (ours === undefined || others === undefined) return { ...limit, verdict: "not measured" };
  if (limit.direct !== undefined) return judgeAdded(limit, result, [ours, others]);
  const { better, label } = result.measures.find((measure) => measure.key === key);
  // Cost is what should be small; goodness is its inverse.
  const cost = better === "less" ? ratio(ours, others) : ratio(others, ours);
  const good = better === "less" ? ratio(others, ours) : ratio(ours, others);
  if (limit.atMost === undefined) return { ...limit, label, ...good, verdict: word(good.median >= limit.atLeast) };
  return { ...limit, label, ...cost, verdict: word(cost.median <= limit.atMost) };
}

/** Of what stands in front of a server: what it adds to the time of a call, beside what another adds. One call is under way. */
function judgeAdded({ direct, ...limit }, { samples }, rates) {
  const least = samples[direct]?.rate;
  if (least === undefined) return { ...limit, verdict: "not measured" };
  const [ours, others] = rates.map((values) => values.map((rate, round) => 1 / rate - 1 / least[round]));
  const added = ratio(ours, others);
  return {
    ...limit,
    key: "added",
    label: "time added to a call",
    ...added,
    verdict: word(added.median <= limit.atMost),
  };
}

const word = (isMet) => (isMet ? "met" : "missed");
