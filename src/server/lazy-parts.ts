/** What takes more than one call, loaded for the first question, step or listener, all at once: each alone is small. */
export { memoryStore } from "../store/memory-store.ts";
export { ask, askUrl, elicit, roots, sample, step } from "./ask.ts";
export { createChangeLog } from "./change-log.ts";
export { createInputRounds } from "./runs/input-rounds.ts";
export { createTaskManager } from "./tasks/task-manager.ts";
