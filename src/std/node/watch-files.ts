import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Clock } from "../clock.ts";

/** Calls back when one of a few files has changed, appeared or disappeared. */
export interface FileWatcher {
  /** Watches these files, and no others. True when one of them is new to it. */
  follow(paths: readonly string[]): boolean;
  /** Resolves when a file has changed since the last time, and was then left alone for a while; or with the signal. */
  changed(signal: AbortSignal | undefined): Promise<void>;
  close(): void;
}

export interface FileWatcherOptions {
  readonly clock: Clock;
  readonly settleMs: number;
  readonly pollMs: number;
  /** Whether the system is asked to watch as well. */
  readonly notices: boolean;
}

/**
 * The system's notices make it quick; looking at the files now and then makes it
 * sure. Folders are watched, because editors replace files. Notices are missed
 * behind links, on networks, and when a folder itself is replaced.
 */
export function watchFiles({ clock, settleMs, pollMs, notices }: FileWatcherOptions): FileWatcher {
  const states = new Map<string, string>();
  const folders = new Map<string, FSWatcher>();
  let settled = false;
  let wake: (() => void) | undefined;
  let stopSettling: (() => void) | undefined;

  const touch = (): void => {
    stopSettling?.();
    stopSettling = clock.after(settleMs, () => {
      settled = true;
      wake?.();
    });
  };

  const look = (): void => {
    for (const [path, state] of states) {
      const now = stateOf(path);
      if (now === state) continue;
      states.set(path, now);
      touch();
    }
    stopPolling = clock.after(pollMs, look);
  };
  let stopPolling = clock.after(pollMs, look);

  const watchFolder = (folder: string): void => {
    if (folders.has(folder)) return;
    try {
      const watcher = watch(folder, { persistent: false }, (_, name) => {
        if (name === null || states.has(resolve(folder, name))) touch();
      });
      watcher.on("error", () => drop(folder));
      folders.set(folder, watcher);
    } catch {
      // It is looked at now and then.
    }
  };

  const drop = (folder: string): void => {
    folders.get(folder)?.close();
    folders.delete(folder);
  };

  return {
    follow(paths) {
      const wanted = new Set(paths.map((path) => resolve(path)));
      const fresh = [...wanted].filter((path) => !states.has(path));
      forget(states, wanted, (path) => states.delete(path));
      for (const path of fresh) states.set(path, stateOf(path));
      const needed = new Set([...wanted].map((path) => dirname(path)));
      forget(folders, needed, drop);
      if (notices) for (const folder of needed) watchFolder(folder);
      return fresh.length > 0;
    },
    async changed(signal) {
      if (!settled && !signal?.aborted) {
        await new Promise<void>((done) => {
          const stop = (): void => {
            signal?.removeEventListener("abort", stop);
            done();
          };
          wake = stop;
          signal?.addEventListener("abort", stop);
        });
      }
      wake = undefined;
      settled = false;
    },
    close() {
      stopSettling?.();
      stopPolling();
      forget(folders, new Set(), drop);
    },
  };
}

/** Removes watchers that are not needed any more. */
function forget(kept: ReadonlyMap<string, unknown>, wanted: ReadonlySet<string>, drop: (name: string) => void): void {
  for (const name of [...kept.keys()]) if (!wanted.has(name)) drop(name);
}

/** Something that is different after a file was written or replaced. */
function stateOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return "missing";
  }
}
