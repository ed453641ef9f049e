/// <reference path="../index.ts" preserve="true" />
export { readLock, writeLock } from "./node/lock-file.ts";
export type * from "./web.ts";
export {
  approveServer,
  approveTools,
  createLock,
  diffLock,
  forgetServer,
  forgetTools,
  formatLock,
  formatLockDiff,
  isLockClean,
  lockedTools,
  lockVerdict,
  parseLock,
} from "./web.ts";
