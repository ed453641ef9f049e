import type { Clock } from "../../std/clock.ts";
import { type Linked, LinkedSet } from "../../std/linked-set.ts";

/** Something that wants to be looked at from time to time. */
export interface HeartbeatListener extends Linked<HeartbeatListener> {
  beat(): void;
}

/**
 * One slow timer for all open streams: it keeps idle streams alive and finds those that are not read. Runs only while
 * there are streams.
 */
export interface Heartbeat {
  readonly intervalMs: number;
  /** Of no effect if it is there. It must not be in another. */
  add(beating: HeartbeatListener): void;
  delete(beating: HeartbeatListener): void;
  /** Forgets everything, and the timer. */
  stop(): void;
}

/** An interval of 0 is off. Where a timer ends with its request, everything has one of its own. */
export function createHeartbeat(clock: Clock, intervalMs: number): Heartbeat {
  return clock.requestBound === true ? createOwnTimers(clock, intervalMs) : createSharedTimer(clock, intervalMs);
}

function createOwnTimers(clock: Clock, intervalMs: number): Heartbeat {
  const heartbeats = new Map<HeartbeatListener, Heartbeat>();

  const forget = (beating: HeartbeatListener): void => {
    heartbeats.get(beating)?.stop();
    heartbeats.delete(beating);
  };

  return {
    intervalMs,
    add(beating) {
      if (heartbeats.has(beating)) return;
      const heartbeat = createSharedTimer(clock, intervalMs);
      heartbeats.set(beating, heartbeat);
      heartbeat.add(beating);
    },
    delete: forget,
    stop() {
      for (const beating of [...heartbeats.keys()]) forget(beating);
    },
  };
}

function createSharedTimer(clock: Clock, intervalMs: number): Heartbeat {
  const all = new LinkedSet<HeartbeatListener>();
  let running = false;
  let disarm = (): void => {};

  const tick = (): void => {
    for (const beating of all.toArray()) if (all.has(beating)) beating.beat();
    running = all.size > 0;
    if (running) disarm = clock.after(intervalMs, tick);
  };

  return {
    intervalMs,
    add(beating) {
      if (intervalMs <= 0 || all.has(beating)) return;
      all.add(beating);
      if (running) return;
      running = true;
      disarm = clock.after(intervalMs, tick);
    },
    delete: (beating) => void all.delete(beating),
    stop() {
      for (const beating of all.toArray()) all.delete(beating);
      disarm();
      running = false;
    },
  };
}
