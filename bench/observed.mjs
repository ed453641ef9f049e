// Measures what telemetry costs a server over HTTP, interleaved with the same server without any:
// `node bench/observed.mjs`. Compares samples of the same round, so that drift of the machine cancels out.
//
//   --rounds N     other than 21
//   --mode MODE    modern (the default), session or stateless
import { parseArgs } from "node:util";
import { openHttp } from "./cells/http.mjs";
import { sampleInRounds } from "./lib/rounds.mjs";
import { median, ratio } from "./lib/stats.mjs";
import { telemetries } from "./lib/telemetry.mjs";

const { values } = parseArgs({ options: { rounds: { type: "string" }, mode: { type: "string", default: "modern" } } });
const length = { rounds: Number(values.rounds ?? 21), ms: 200, warmCalls: 20_000, warmMs: 6000, repeat: 0 };
const samples = await sampleInRounds({
  peers: ["none", ...Object.keys(telemetries)],
  open: (telemetry) => openHttp({ peer: "plugbay", mode: values.mode, answer: "json", connections: 16, telemetry }),
  length,
  report: () => {},
});

for (const [name, taken] of Object.entries(samples)) {
  const rate = ratio(valuesOf(taken, "rate"), valuesOf(samples.none, "rate"));
  const cpu = ratio(valuesOf(samples.none, "cpu"), valuesOf(taken, "cpu"));
  const used = median(valuesOf(taken, "cpu")).toFixed(1);
  console.log(
    `${name.padEnd(8)} ${percent(rate)} of the calls a second, ${percent(cpu)} by processor time (${used} us a call)`,
  );
}
process.exit();

function valuesOf(taken, measure) {
  return taken.map((sample) => sample[measure]);
}

function percent({ median: middle, iqr }) {
  return `${(100 * middle).toFixed(1)} % (spread ${(100 * iqr).toFixed(0)})`;
}
