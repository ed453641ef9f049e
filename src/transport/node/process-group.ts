import { type ChildProcess, spawn } from "node:child_process";
import type { Clock } from "../../std/clock.ts";

/** A child and everything it started, as far as that stayed in its process group. */
interface ProcessGroup {
  /** True while one of them is left. */
  alive(): boolean;
  /** Sends a signal to all of them. On Windows every signal ends them at once. */
  signal(signal: NodeJS.Signals): void;
}

/**
 * The group of a child that was started as the leader of one: `detached`, except on Windows.
 *
 * It does not outlive this process. A watchdog sees to that; where there is none, which is on Windows and where there is no
 * `/bin/sh`, the group is killed when this process exits. A process that dies by a signal cannot do so: then the child sees the end of its stdin.
 */
export function processGroup(child: ChildProcess, pid: number): ProcessGroup {
  const group = process.platform === "win32" ? windowsTree(child, pid) : posixGroup(pid);
  if (survivors.size === 0) process.on("exit", killSurvivors);
  survivors.set(group, pid);
  void watch();
  return group;
}

/**
 * Waits for a group whose stdin was closed, then asks it to end, then makes it.
 *
 * Each step has a second. Resolves when nothing is left, or when the system
 * does not let go of what was killed. The watchdog ends with the last group.
 */
export async function endGroup(group: ProcessGroup, exited: Promise<unknown>, clock: Clock): Promise<void> {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    if (await goneInTime(group, exited, clock)) return forget(group);
    group.signal(signal);
  }
  await goneInTime(group, exited, clock);
  await forget(group);
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

/** Groups that would outlive this process, and their numbers. */
const survivors = new Map<ProcessGroup, number>();

const watchdog = createWatchdog();

async function watch(): Promise<void> {
  if (process.platform !== "win32") await watchdog.watch([...survivors.values()]);
}

function killSurvivors(): void {
  if (watchdog.isUp) return;
  for (const group of survivors.keys()) group.signal("SIGKILL");
}

/** Resolves when the watchdog is gone too, should this have been the last group. */
function forget(group: ProcessGroup): Promise<void> {
  survivors.delete(group);
  if (survivors.size === 0) process.off("exit", killSurvivors);
  return watch();
}

/** Ends process groups when this process is gone, however it went. */
interface Watchdog {
  /** These are the groups to end, from now on. Without any the watchdog ends, and the promise resolves when it is gone. */
  watch(groups: readonly number[]): Promise<void>;
  /** True while it can be relied on. */
  readonly isUp: boolean;
}

/**
 * A shell that waits for the end of its stdin, which is the end of this process: by a signal that nobody handles, by
 * `process.exit`, by a crash, or by SIGKILL, which no handler would see. It is in a session of its own, so that a terminal does
 * not reach it. No signal handler is installed: exit codes and the handlers of others stay as they are.
 *
 * Each line it reads is the list of groups that are left. The last one counts.
 */
function createWatchdog(): Watchdog {
  let shell: ChildProcess | undefined;
  let gone: Promise<void> = Promise.resolve();

  const start = (): ChildProcess => {
    const started = spawn("/bin/sh", ["-c", script], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
      cwd: "/",
      // It needs `sleep`, and has no business with anything else of ours.
      env: { PATH: "/usr/bin:/bin" },
    });
    const forget = (): void => {
      if (shell === started) shell = undefined;
    };
    started.stdin?.on("error", forget);
    gone = new Promise((resolve) => {
      for (const event of ["error", "exit"]) started.on(event, resolve);
    });
    void gone.then(forget);
    // Neither of them keeps this process alive.
    started.unref();
    (started.stdin as { unref?(): void } | null)?.unref?.();
    return started;
  };

  return {
    watch(groups) {
      if (groups.length > 0) {
        shell ??= start();
        shell.stdin?.write(`${groups.join(" ")}\n`);
        return Promise.resolve();
      }
      // Nothing is left for it to end, so it need not be asked.
      shell?.kill("SIGKILL");
      shell = undefined;
      return gone;
    },
    get isUp() {
      return shell?.pid !== undefined;
    },
  };
}

/** After the end: SIGTERM, a second in steps of a twentieth, SIGKILL. A `sleep` that knows no fractions makes it shorter. */
const script = `trap '' HUP INT QUIT TERM
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -TERM -$group; done
for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  left=
  for group in $groups; do kill -0 -$group && left=1; done
  [ -n "$left" ] || exit 0
  sleep 0.05
done
for group in $groups; do kill -KILL -$group; done`;
