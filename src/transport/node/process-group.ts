import { type ChildProcess, spawn } from "node:child_process";
import type { Clock } from "../../std/clock.ts";

/** A child and everything it started, as far as that stayed in its process group. */
export interface ProcessGroup {
  /** True while one of them is left. */
  alive(): boolean;
  /** Sends a signal to all of them. On Windows every signal ends them at once. */
  signal(signal: NodeJS.Signals): void;
}

/** The group of a child that was started as the leader of one: `detached`, except on Windows. */
export function processGroup(child: ChildProcess, pid: number): ProcessGroup {
  const group = process.platform === "win32" ? windowsTree(child, pid) : posixGroup(pid);
  survivors.add(group);
  if (survivors.size === 1) process.on("exit", killSurvivors);
  return group;
}

/**
 * Waits for a group whose stdin was closed, then asks it to end, then makes it.
 *
 * Each step has a second. Resolves when nothing is left, or when the system
 * does not let go of what was killed.
 */
export async function endGroup(group: ProcessGroup, exited: Promise<unknown>, clock: Clock): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (await goneInTime(group, exited, clock)) return forget(group);
    group.signal(signal);
  }
  await goneInTime(group, exited, clock);
  forget(group);
}

const graceMs = 1000;
const pollMs = 20;

/** Only the leader's end is an event; for the rest of the group the system has to be asked. */
function goneInTime(group: ProcessGroup, exited: Promise<unknown>, clock: Clock): Promise<boolean> {
  const deadline = clock.now() + graceMs;
  return new Promise((resolve) => {
    let cancel: (() => void) | undefined;
    const check = (): void => {
      cancel?.();
      const alive = group.alive();
      if (!alive || clock.now() >= deadline) resolve(!alive);
      else cancel = clock.after(pollMs, check);
    };
    check();
    void exited.then(check);
  });
}

function posixGroup(pid: number): ProcessGroup {
  const send = (signal: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(-pid, signal);
    } catch {
      return false;
    }
  };
  return { alive: () => send(0), signal: send };
}

function windowsTree(child: ChildProcess, pid: number): ProcessGroup {
  return {
    alive: () => child.exitCode === null && child.signalCode === null,
    signal() {
      const killer = spawn("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore", windowsHide: true });
      killer.on("error", () => child.kill());
    },
  };
}

/** Groups that would outlive this process. */
const survivors = new Set<ProcessGroup>();

function killSurvivors(): void {
  for (const group of survivors) group.signal("SIGKILL");
}

function forget(group: ProcessGroup): void {
  survivors.delete(group);
  if (survivors.size === 0) process.off("exit", killSurvivors);
}
