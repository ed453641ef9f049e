/// <reference path="../index.ts" preserve="true" />
export { approve, approveServer, createLock, forget } from "./approve.ts";
export {
  type ChangedServer,
  compareLock,
  type DetailChange,
  type ItemChange,
  isClean,
  type JsonChange,
  type LockDiff,
  type NewServer,
  type ServerDiff,
  type ToolChange,
  type Verdict,
  verdictOf,
} from "./diff-lock.ts";
export { formatLock } from "./format-lock.ts";
export { formatDiff } from "./format-lock-diff.ts";
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
