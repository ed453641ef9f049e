import { cpus } from "node:os";

/** Milliseconds that all processors have been busy, whoever kept them so. */
export function busyMs() {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);
}
