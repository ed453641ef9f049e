/// <reference path="../index.ts" preserve="true" />
export { readLock, writeLock } from "./node/lock-file.ts";
export type * from "./web.ts";
export {
  approve,
  approveServer,
  compareLock,
  createLock,
  forget,
  formatDiff,
  formatLock,
  isClean,
  lockedTools,
  parseLock,
  verdictOf,
} from "./web.ts";
