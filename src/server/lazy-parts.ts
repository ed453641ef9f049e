/** What takes more than one call, loaded for the first question, step or listener, all at once: each alone is small. */
export { ask, askUrl, elicit, pass, roots, sample, step } from "./ask.ts";
export { createInputRounds } from "./runs/input-rounds.ts";
export { createServerShares } from "./server-shares.ts";
export { createState } from "./state.ts";
export { storeOf } from "./store-of.ts";
export { createTaskManager } from "./tasks/task-manager.ts";
