import { sampleInRounds } from "./rounds.mjs";
import { ratio, summary } from "./stats.mjs";

/**
 * Measures one cell. Gives the values of each measure by peer, one for each round. A cell whose
 * samples lie far apart, for what is asked of it, has `times` as many rounds as others.
 */
export async function runCell(cell, { peers, length, report }) {
  const run = cell.run ?? ((options) => sampleInRounds({ ...options, open: cell.open }));
  const rounds = length.rounds * (cell.times ?? 1);
  const samples = await run({ peers, length: { ...length, rounds, ...cell.length }, report });
  return Object.fromEntries(peers.map((peer) => [peer, columns(samples[peer])]));
}

/** Samples, each with all measures, as measures, each with all samples. Four digits are more than enough. */
function columns(samples) {
  const keys = Object.keys(samples[0]);
  return Object.fromEntries(keys.map((key) => [key, samples.map((sample) => Number(sample[key].toPrecision(4)))]));
}

/** What follows from the samples of a cell. */
export function analyse({ name, title, group, measures, against = ["bare", "v2"] }, samples) {
  const results = measures.map((measure) => ({
    ...measure,
    peers: Object.fromEntries(Object.keys(samples).map((peer) => [peer, judge({ samples, measure, peer, against })])),
  }));
  return { name, title, group, against, measures: results, load: loadOf(samples), samples };
}

/** The middle of one measure of a peer, and how many times as good it is as those it is held against. */
function judge({ samples, measure, peer, against }) {
  const others = against.filter((other) => samples[other] !== undefined && other !== peer);
  const versus = others.map((other) => [other, goodness(measure, samples[peer], samples[other])]);
  return { ...summary(samples[peer][measure.key]), versus: Object.fromEntries(versus) };
}

/** How many times as good the values of one peer are as those of another, in the same rounds. */
export function goodness({ key, better }, values, others) {
  return better === "less" ? ratio(others[key], values[key]) : ratio(values[key], others[key]);
}

/** What the generator used of a core, and what others used meanwhile, where that was seen. */
function loadOf(samples) {
  const of = (key) => Object.values(samples).flatMap((values) => values[key] ?? []);
  if (of("foreign").length === 0) return undefined;
  return { generator: summary(of("generator")).median, foreign: summary(of("foreign")).median };
}
