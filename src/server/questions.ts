/** What questions and steps take. Loaded for the first of them, all at once: each alone is small. */
export { ask, askUrl, elicit, roots, sample, step } from "./ask.ts";
export { createRounds } from "./rounds.ts";
export { createDurableRounds } from "./runs/input-rounds.ts";
