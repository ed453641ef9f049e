import { execFile } from "node:child_process";

/** Bytes of memory of groups of processes, by their leaders. Empty where the system has no `ps`. */
export async function groupMemory(leaders: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const bytes = new Map<number, number>();
  if (leaders.length === 0 || process.platform === "win32") return bytes;
  for (const line of (await listProcesses()).split("\n")) {
    const [group = Number.NaN, kilobytes = 0] = line.trim().split(/\s+/).map(Number);
    if (leaders.includes(group)) bytes.set(group, (bytes.get(group) ?? 0) + kilobytes * 1024);
  }
  return bytes;
}

function listProcesses(): Promise<string> {
  return new Promise((resolve) => {
    execFile("ps", ["-A", "-o", "pgid=,rss="], { maxBuffer: 16_777_216 }, (_, stdout) => resolve(stdout));
  });
}
