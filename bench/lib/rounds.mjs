import { within } from "./deadline.mjs";
import { busyMs } from "./foreign.mjs";

/**
 * How long things take. A peer is warm after `warmCalls`, or when it has had `warmMs`
 * for them: compilers need calls, not time. `repeat` is how often a sample that others
 * disturbed is taken again.
 */
export const lengths = {
  full: { rounds: 7, ms: 600, warmCalls: 20_000, warmMs: 8000, repeat: 2 },
  quick: { rounds: 5, ms: 120, warmCalls: 16_000, warmMs: 2500, repeat: 0 },
};

/** More cores than this used by others disturb a sample. */
const DISTURBED = 0.5;

/** Whoever needs longer for one sample hangs. */
const LONGEST_MS = 180_000;

/**
 * Samples all peers of a cell in rounds, forth and back: A B C, C B A, … All of
 * them are alive the whole time. Gives the values of each measure by peer.
 */
export async function sampleInRounds({ peers, open, length, report }) {
  const subjects = [];
  const samples = Object.fromEntries(peers.map((peer) => [peer, []]));
  try {
    for (const peer of peers) {
      report(`starting ${peer}`);
      const subject = await open(peer, length);
      subjects.push({ peer, ...subject });
      await warmUp(subject, length);
    }
    for (let round = 0; round < length.rounds; round++) {
      report(`round ${round + 1} of ${length.rounds}`);
      for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
        samples[subject.peer].push(await undisturbed(subject, length));
      }
    }
  } finally {
    await Promise.all(subjects.map(({ close }) => close()));
  }
  return samples;
}

async function warmUp({ sample }, { ms, warmCalls, warmMs }) {
  const start = performance.now();
  for (let calls = 0; calls < warmCalls && performance.now() - start < warmMs; ) calls += (await sample(ms)).calls;
}

/** One sample; of several disturbed ones, that which was disturbed least. */
async function undisturbed(subject, { ms, repeat }) {
  let best;
  for (let attempt = 0; attempt <= repeat; attempt++) {
    const taken = await take(subject, ms);
    if (best === undefined || taken.foreign < best.foreign) best = taken;
    if (best.foreign <= DISTURBED) break;
  }
  return best;
}

/**
 * One sample, with what it cost whom. Processor times are in microseconds. Where a
 * process takes part that cannot be asked, `hasHelper`, others cannot be told from it.
 */
async function take({ peer, sample, cpu, hasHelper = false }, ms) {
  const before = { cpu: await cpu(), own: ownCpu(), busy: busyMs() };
  const { calls, ms: took } = await within(LONGEST_MS, `a sample of ${peer}`, sample(ms));
  const own = ownCpu() - before.own;
  const busy = busyMs() - before.busy;
  const used = (await cpu()) - before.cpu;
  const foreign = hasHelper ? 0 : Math.max(0, (busy - (own + used) / 1000) / took);
  return { calls, cpu: used / calls, rate: (calls / took) * 1000, generator: own / 1000 / took, foreign };
}

function ownCpu() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
