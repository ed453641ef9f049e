/// <reference path="../index.ts" preserve="true" />
export { approveServer, approveTools, createLock, forgetServer, forgetTools } from "./approve.ts";
export {
  type ChangedServer,
  type DetailChange,
  diffLock,
  type ItemChange,
  isLockClean,
  type JsonChange,
  type LockDiff,
  type LockedServerDiff,
  type LockVerdict,
  lockVerdict,
  type NewServer,
  type ToolChange,
} from "./diff-lock.ts";
export { formatLock } from "./format-lock.ts";
export { formatLockDiff } from "./format-lock-diff.ts";
export {
  type Lock,
  type LockedPackage,
  type LockedProgram,
  type LockedServer,
  type LockedTarget,
  type LockedTool,
  lockedTools,
  type ServerProgram,
  type ServerSurface,
} from "./lock.ts";
export { parseLock } from "./parse-lock.ts";
