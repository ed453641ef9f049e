import { cpus, totalmem } from "node:os";

/** What the figures were taken on. */
export function machine() {
  return {
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    date: new Date().toISOString().slice(0, 10),
  };
}
