/**
 * Runs `listener` when the signal aborts. Returns how to stop listening.
 *
 * However many calls share a signal, it gets one listener: platforms take
 * eleven for a leak and say so on stderr.
 */
export function onSignal(signal: AbortSignal, listener: () => void): () => void {
  const hub = hubs.get(signal) ?? openHub(signal);
  hub.listeners.add(listener);
  return () => {
    if (hub.listeners.delete(listener) && hub.listeners.size === 0) hub.close();
  };
}

interface Hub {
  readonly listeners: Set<() => void>;
  close(): void;
}

const hubs = new WeakMap<AbortSignal, Hub>();

function openHub(signal: AbortSignal): Hub {
  const listeners = new Set<() => void>();
  const ring = (): void => {
    hubs.delete(signal);
    for (const listener of listeners) listener();
  };
  const close = (): void => {
    hubs.delete(signal);
    signal.removeEventListener("abort", ring);
  };
  const hub = { listeners, close };
  hubs.set(signal, hub);
  signal.addEventListener("abort", ring, { once: true });
  return hub;
}
