import fc from "../../node_modules/fast-check/lib/fast-check.js";

// What tests import as "fast-check". The same values are tried in every run, so that a run fails for what was changed and
// not by chance. FC_SEED=random tries others; a number repeats those of a run that failed.
const { FC_SEED = "1" } = process.env;
if (FC_SEED !== "random") fc.configureGlobal({ seed: Number(FC_SEED) });

export default fc;
// biome-ignore lint/performance/noReExportAll: stands for the whole package
export * from "../../node_modules/fast-check/lib/fast-check.js";
